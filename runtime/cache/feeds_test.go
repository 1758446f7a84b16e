package cache_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestFeeds: a snapshot shows what feeds say by the name of a node or by its label, whatever comes first, and only rows of which they say
// something else are written.
func TestFeeds(t *testing.T) {
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	node := func(name, zone string) {
		c.AddNode(state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}}))
	}
	cell := func(value int64) state.Cell { return state.Cell{Value: value, State: 1, Since: 5} }
	set := func(f state.Feed, want bool) {
		t.Helper()
		if got := c.SetFeeds(f); got != want {
			t.Errorf("feed %s has changed a node: %t, want %t", f.Name, got, want)
		}
	}
	shows := func(step string, want map[string][2]int64) {
		t.Helper()
		c.UpdateSnapshot(s)
		for row := range uint32(s.Len()) {
			got := [2]int64{s.Nodes.Cell(row, s.Feed("load")).Value, s.Nodes.Cell(row, s.Feed("price")).Value}
			if got != want[s.Name(row)] {
				t.Errorf("%s: %s has %v, want %v", step, s.Name(row), got, want[s.Name(row)])
			}
		}
	}
	node("a", "x")
	node("b", "y")
	shows("no feed", map[string][2]int64{})
	set(state.Feed{Name: "load", Cells: map[string]state.Cell{"b": cell(7), "c": cell(9)}}, true)
	shows("a feed", map[string][2]int64{"b": {7}})
	set(state.Feed{Name: "price", Label: "zone", Cells: map[string]state.Cell{"x": cell(3), "": cell(8)}}, true)
	node("c", "x")
	shows("a node after its feeds", map[string][2]int64{"a": {0, 3}, "b": {7, 0}, "c": {9, 3}})
	node("a", "y")
	set(state.Feed{Name: "load", Cells: map[string]state.Cell{"gone": cell(1)}}, false)
	shows("another label", map[string][2]int64{"b": {7, 0}, "c": {9, 3}})
	before := s.Nodes.FeedsGeneration[0]
	set(state.Feed{Name: "load", Cells: map[string]state.Cell{"b": {}, "c": cell(9)}}, true)
	c.RemoveNode("a") // the last row takes its place
	shows("nothing is said of b any more", map[string][2]int64{"c": {9, 3}})
	if s.Nodes.FeedsGeneration[0] == before {
		t.Error("a row that shows another node has the generation of the one before")
	}
	var all []state.Feed
	for f := range c.Feeds() {
		all = append(all, f)
	}
	if len(all) != 2 || all[0].Name != "load" || len(all[0].Cells) != 2 || all[1].Label != "zone" || len(all[1].Cells) != 2 {
		t.Errorf("a checkpoint has %+v", all)
	}
}

// TestFeedsOfNamespaces: a snapshot shows what objects say by the name of a namespace, whatever comes first, and only rows of which they say
// something else change. A row that gets another namespace has nothing of the one before.
func TestFeedsOfNamespaces(t *testing.T) {
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	columns := func(n int64) state.Cell {
		return state.Cell{State: 1, Columns: &state.Columns{Numbers: [][]int64{{n}}}}
	}
	add := func(name string) {
		c.AddNamespace(state.NewNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	set := func(want bool, cells map[string]state.Cell) {
		t.Helper()
		if got := c.SetFeeds(state.Feed{Name: "quota", Of: state.OfNamespaces, Cells: cells}); got != want {
			t.Errorf("%v has changed something: %t, want %t", cells, got, want)
		}
	}
	shows := func(when string, want map[string]int64) {
		t.Helper()
		since := s.Generation
		c.UpdateSnapshot(s)
		rows, _ := s.CellChanges(since)
		for name, n := range want {
			row, ok := s.NamespaceRow(name)
			numbers := s.Namespaces.Cell(row, s.Feed("quota")).Columns.NumbersOf(0)
			if got := append(numbers, 0)[0]; !ok || got != n {
				t.Errorf("%s: %s has %d, want %d (changed: %v)", when, name, got, n, rows)
			}
		}
	}
	c.AddNode(state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))
	add("a")
	set(true, map[string]state.Cell{"a": columns(1), "b": columns(2)})
	add("b")
	shows("both", map[string]int64{"a": 1, "b": 2})
	if row, _ := s.Row("a"); s.Nodes.Cell(row, s.Feed("quota")) != (state.Cell{}) {
		t.Error("the node a has what the namespace a has")
	}
	before := s.Generation
	set(false, map[string]state.Cell{"a": columns(1), "gone": columns(7)})
	set(true, map[string]state.Cell{"b": columns(3)})
	c.UpdateSnapshot(s)
	rowB, _ := s.NamespaceRow("b")
	if rows, known := s.CellChanges(before); !known || !slices.Contains(rows, rowB) {
		t.Errorf("changed: %v, %t, want %d", rows, known, rowB)
	}
	shows("a change", map[string]int64{"a": 1, "b": 3})
	c.RemoveNamespace("a")
	add("new")
	shows("a row of another", map[string]int64{"b": 3, "new": 0})
	add("a")
	set(true, map[string]state.Cell{"new": columns(5)})
	shows("again", map[string]int64{"a": 1, "b": 3, "new": 5})
	fresh := state.NewSnapshot()
	c.UpdateSnapshot(fresh)
	row, _ := fresh.NamespaceRow("a")
	if n := fresh.Namespaces.Cell(row, fresh.Feed("quota")).Columns.NumbersOf(0); len(n) != 1 || n[0] != 1 {
		t.Errorf("another snapshot has %v", n)
	}
}

// TestRequestedSince: a pod counts if it got its node after the time that the oldest sample of the feeds gives, and on an overlay row only
// while it is there.
func TestRequestedSince(t *testing.T) {
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	c.AddNode(state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))
	for i, at := range []int64{0, 5, 6, 9} {
		spec := podSpec{Name: "p" + string(rune('0'+i)), UID: "u" + string(rune('0'+i)), Node: "a"}
		if _, err := c.AddPod(spec.pod().Assigned(at)); err != nil {
			t.Fatal(err)
		}
	}
	c.SetFeeds(state.Feed{Name: "new", Cells: map[string]state.Cell{"a": {State: 1, Since: 8}}})
	c.SetFeeds(state.Feed{Name: "old", Cells: map[string]state.Cell{"a": {State: 1, Since: 5}}})
	c.UpdateSnapshot(s)
	for _, w := range []struct {
		feeds []int
		want  int64
	}{{[]int{0}, 1}, {[]int{0, 1}, 2}, {[]int{1, -1}, 3}, {nil, 0}} { // a feed that is not known has no sample
		if got := s.RequestedSince(0, w.feeds, v1.ResourcePods); got != w.want {
			t.Errorf("by %v: %d pods, want %d", w.feeds, got, w.want)
		}
	}
	o := s.Overlay(0)
	s.RemovePod(o, "u3")
	if got := s.RequestedSince(o, []int{0, 1}, v1.ResourcePods); got != 1 {
		t.Errorf("without a pod: %d, want 1", got)
	}
}

// BenchmarkFeeds is a round in the loop: all samples of 5,000 nodes are newer, and a tenth has another value.
func BenchmarkFeeds(b *testing.B) {
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	for i := range 5_000 {
		c.AddNode(state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}))
	}
	for n := range b.N {
		cells := make(map[string]state.Cell, 5_000)
		for i := range 5_000 {
			cells[fmt.Sprint(i)] = state.Cell{Value: int64((n + i) / 10), State: 1, Since: int64(n)}
		}
		c.SetFeeds(state.Feed{Name: "load", Cells: cells})
		c.UpdateSnapshot(s)
	}
}
