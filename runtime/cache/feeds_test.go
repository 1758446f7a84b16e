package cache_test

import (
	"fmt"
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
