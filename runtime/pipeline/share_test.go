package pipeline

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// gated is a plugin that gates each pod.
type gated struct{ teams }

func (p *gated) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	for i := range pods {
		out[i] = plugin.NewStatus(abi.UnschedulableAndUnresolvable, p.info.Name)
	}
}

// TestVersions: one version of a plugin decides for each pod, at all points, and a pod has the features
// that all versions enforce.
func TestVersions(t *testing.T) {
	workers, err := NewWorkers(1)
	if err != nil {
		t.Fatal(err)
	}
	defer workers.Close()
	var called []string
	canary, stable := state.Share{Key: "uid", To: 3000}, state.Share{Key: "uid", From: 3000, To: state.Buckets}
	build := func(shares ...state.Share) *Pipeline {
		t.Helper()
		common := &teams{info: plugin.Info{Name: "common"}, called: &called}
		points := map[abi.Point][]Entry{abi.QueueSort: {{Plugin: common}}, abi.Bind: {{Plugin: common}}, abi.PreFilter: {{Plugin: common}}}
		for i, share := range shares {
			p := &gated{teams{info: plugin.Info{Name: fmt.Sprint("v", i+1), Enforces: state.FeatureNodeAffinity}, called: &called}}
			if i == 0 {
				p.info.Enforces |= state.FeatureHostPorts
			}
			for _, point := range []abi.Point{abi.PreEnqueue, abi.PreFilter, abi.Filter, abi.Reserve} {
				points[point] = append(points[point], Entry{Plugin: p, Share: share})
			}
		}
		p, err := New(Config{Points: points}, Deps{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := build(stable, canary)
	run := p.NewRun(nil)
	counts := map[string]int{}
	for i := range 200 {
		pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: types.UID(fmt.Sprint("uid-", i))}})
		own := "v1"
		if canary.Has(pod) {
			own = "v2"
		}
		counts[own]++
		gates := make([]Gate, 1)
		// A pod that the other version gates is not held by it any more.
		p.PreEnqueue([]*state.QueuedPod{{Pod: pod, GatedBy: map[string]string{"v1": "v2", "v2": "v1"}[own]}}, gates)
		if gates[0].Plugin != own {
			t.Fatalf("pod %d of %s is gated by %q", i, own, gates[0].Plugin)
		}
		called = nil
		run.Begin(plugin.Cycle{Context: t.Context(), Snapshot: state.NewSnapshot(), State: &state.CycleState{}, Pod: pod})
		run.PreFilter()
		b := p.NewBinding(plugin.Placement{Pod: pod}, Try{})
		b.Reserve(func(plugin.Directives) error { return nil })
		if want := []string{"common", own, own}; !slices.Equal(called, want) {
			t.Fatalf("pod %d of %s: called %q", i, own, called)
		}
	}
	if counts["v1"] < 100 || counts["v2"] < 30 {
		t.Errorf("pods by version: %v", counts)
	}
	pod := state.NewPod(&v1.Pod{})
	pod.Features = state.FeatureNodeAffinity | state.FeatureHostPorts
	if got := p.Unenforced(pod); got != state.FeatureHostPorts {
		t.Errorf("unenforced are %v", got.Names())
	}
	if got := build(stable).Unenforced(pod); got != state.FeatureNodeAffinity|state.FeatureHostPorts {
		t.Errorf("without a version for some pods, unenforced are %v", got.Names())
	}
	if got := build(state.Share{}).Unenforced(pod); got != 0 {
		t.Errorf("of one version, unenforced are %v", got.Names())
	}
}
