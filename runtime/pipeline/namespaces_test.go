package pipeline_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestOtherNamespaces: a plugin is not called for pods of other namespaces, and does not keep
// the answers of others about them from being reused, although its own never are.
func TestOtherNamespaces(t *testing.T) {
	const nodes = 4
	var infos []*state.NodeInfo
	for i := range nodes {
		n := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}})
		infos = append(infos, &state.NodeInfo{Name: n.Name, Node: n, ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1)})
	}
	snapshot := state.NewSnapshot()
	snapshot.Rebuild(infos)
	scoped := []abi.Point{abi.Filter, abi.Score}
	everybodys := &moody{score: 3, info: plugin.Info{Name: "Everybodys", Reads: plugin.Whole(abi.NodeLabels, abi.IncomingLabels), NodeScoped: scoped}}
	theirs := &moody{score: 4, info: plugin.Info{Name: "Theirs", Reads: plugin.Whole(abi.PodWhole), NodeScoped: scoped, Namespaces: []string{"theirs"}}}
	points := map[abi.Point][]pipeline.Entry{abi.QueueSort: {{Plugin: everybodys}}, abi.Bind: {{Plugin: everybodys}}}
	for _, point := range scoped {
		points[point] = []pipeline.Entry{{Plugin: everybodys}, {Plugin: theirs}}
	}
	workers, err := pipeline.NewWorkers(1)
	if err != nil {
		t.Fatal(err)
	}
	defer workers.Close()
	p, err := pipeline.New(pipeline.Config{Points: points}, pipeline.Deps{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	run := p.NewRun(equivalence.New(equivalence.Default()))
	for _, c := range []struct {
		namespace string
		asked     int // Theirs, in a cycle
		total     int64
		class     bool
	}{{"ours", 0, 3, true}, {"theirs", 2 * nodes, 7, false}} {
		cycle := plugin.Cycle{
			Context: t.Context(), Snapshot: snapshot, State: &state.CycleState{},
			Pod: state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "p"}}),
		}
		class := false
		for range 3 { // of the first ones nothing is kept
			run.Begin(cycle)
			class = run.Class() != nil
			theirs.answers(t, run, cycle)
		}
		if theirs.asked != c.asked || class != c.class || run.Scores.Totals[0] != c.total {
			t.Errorf("%s: %d rows asked, total %d, a class: %t; want %d, %d, %t", c.namespace, theirs.asked, run.Scores.Totals[0], class, c.asked, c.total, c.class)
		}
	}
}

// TestInherit: when another plugin changes, a plugin that stays is not asked again what it has
// answered.
func TestInherit(t *testing.T) {
	const nodes = 4
	var infos []*state.NodeInfo
	for i := range nodes {
		n := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}})
		infos = append(infos, &state.NodeInfo{Name: n.Name, Node: n, ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1)})
	}
	snapshot := state.NewSnapshot()
	snapshot.Rebuild(infos)
	scoped := []abi.Point{abi.Filter, abi.Score}
	moodies := map[string]*moody{}
	for _, name := range []string{"Stays", "Old", "New"} {
		moodies[name] = &moody{score: 3, info: plugin.Info{Name: name, Reads: plugin.Whole(abi.NodeLabels, abi.IncomingLabels), NodeScoped: scoped}}
	}
	workers, err := pipeline.NewWorkers(1)
	if err != nil {
		t.Fatal(err)
	}
	defer workers.Close()
	store := equivalence.New(equivalence.Default())
	newRun := func(other string) *pipeline.Run {
		stays := pipeline.Entry{Plugin: moodies["Stays"]}
		points := map[abi.Point][]pipeline.Entry{abi.QueueSort: {stays}, abi.Bind: {stays}}
		for _, point := range scoped {
			points[point] = []pipeline.Entry{{Plugin: moodies[other]}, stays}
		}
		p, err := pipeline.New(pipeline.Config{Points: points}, pipeline.Deps{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		return p.NewRun(store)
	}
	attempt := func(run *pipeline.Run) {
		cycle := plugin.Cycle{Context: t.Context(), Snapshot: snapshot, State: &state.CycleState{}, Pod: state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}})}
		run.Begin(cycle)
		moodies["Stays"].answers(t, run, cycle)
	}
	run := newRun("Old")
	for range 3 {
		attempt(run)
	}
	asked := moodies["Stays"].asked
	next := newRun("New")
	next.Inherit(run)
	for range 3 {
		attempt(next)
	}
	if now := moodies["Stays"].asked; asked == 0 || now != asked || moodies["New"].asked == 0 {
		t.Errorf("the plugin that stays was asked about %d rows, and %d more after the change; the new one about %d", asked, now-asked, moodies["New"].asked)
	}
	if keys := store.Stats().Keys; keys == 0 {
		t.Error("nothing is kept")
	}
}
