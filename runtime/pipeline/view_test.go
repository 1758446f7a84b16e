package pipeline

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// teams is a plugin that stands at many points, and the names of those that were called.
type teams struct {
	info   plugin.Info
	called *[]string
}

func (p *teams) Info() *plugin.Info { return &p.info }

func (p *teams) PreFilter(*plugin.Cycle) ([]uint32, *plugin.Status) {
	*p.called = append(*p.called, p.info.Name)
	return nil, nil
}

func (p *teams) Filter(*plugin.Cycle, []uint32, *plugin.Verdicts) {}

func (p *teams) PreScore(*plugin.Cycle, []uint32) *plugin.Status { return nil }

func (p *teams) Score(*plugin.Cycle, []uint32, []int64) *plugin.Status { return nil }

func (p *teams) Reserve(*plugin.Placement) (plugin.Directives, *plugin.Status) {
	*p.called = append(*p.called, p.info.Name)
	return plugin.Directives{}, nil
}

func (p *teams) Unreserve(*plugin.Placement) plugin.Directives { return plugin.Directives{} }

func (p *teams) Bind(*plugin.Placement) (plugin.Directives, *plugin.Status) {
	return plugin.Directives{}, nil
}

func (p *teams) Less(_, _ *state.QueuedPod) bool { return false }

// TestView: of 200 plugins of 50 namespaces, only those of a pod's namespace and the common one are
// stages for the pod, at each point. Other namespaces share one view.
func TestView(t *testing.T) {
	workers, err := NewWorkers(1)
	if err != nil {
		t.Fatal(err)
	}
	defer workers.Close()
	var called []string
	points := map[abi.Point][]Entry{}
	add := func(name string, at []abi.Point, namespaces ...string) {
		p := &teams{info: plugin.Info{Name: name, Namespaces: namespaces}, called: &called}
		for _, point := range at {
			points[point] = append(points[point], Entry{Plugin: p})
		}
	}
	everywhere := []abi.Point{abi.PreFilter, abi.Filter, abi.PreScore, abi.Score, abi.Reserve}
	add("common", append(everywhere, abi.QueueSort, abi.Bind))
	for i := range 200 {
		add(fmt.Sprintf("p%03d", i), everywhere, fmt.Sprintf("ns-%02d", i%50))
	}
	p, err := New(Config{Points: points}, Deps{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	of := func(namespace string) *view {
		return p.viewOf(state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}}))
	}
	if again := of("ns-07"); of("x") != of("y") || of("ns-07") != again || again == of("ns-08") {
		t.Error("views are not those of their namespaces")
	}
	run := p.NewRun(nil)
	for namespace, want := range map[string][]string{"ns-07": {"common", "p007", "p057", "p107", "p157"}, "x": {"common"}, "ns-49": {"common", "p049", "p099", "p149", "p199"}} {
		called = nil
		pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}})
		run.Begin(plugin.Cycle{Context: t.Context(), Snapshot: state.NewSnapshot(), State: &state.CycleState{}, Pod: pod})
		if _, _, status := run.PreFilter(); !status.Success() || !slices.Equal(called, want) {
			t.Errorf("%s: called %q, want %q", namespace, called, want)
		}
		for name, stages := range map[string]int{
			"preFilter": len(run.own.preFilter), "filter": len(run.own.filter), "preScore": len(run.own.preScore), "score": len(run.own.score), "plugins": len(run.own.plugins),
		} {
			if stages != len(want) {
				t.Errorf("%s: %d stages at %s, want %d", namespace, stages, name, len(want))
			}
		}
		var counted []string
		for _, timing := range run.Timings(nil) {
			counted = append(counted, timing.Plugin)
		}
		if !slices.Equal(counted, want) {
			t.Errorf("%s: counted %q, want %q", namespace, counted, want)
		}
		called = nil
		b := p.NewBinding(plugin.Placement{Pod: pod}, Try{})
		if status := b.Reserve(func(plugin.Directives) error { return nil }); !status.Success() || !slices.Equal(called, want) {
			t.Errorf("%s: reserve called %q, want %q", namespace, called, want)
		}
		if timings, _ := b.Release(nil, nil); len(timings) != len(want) || !slices.ContainsFunc(timings, func(r report.Timing) bool { return r.Point == abi.Reserve }) {
			t.Errorf("%s: %+v", namespace, timings)
		}
	}
}
