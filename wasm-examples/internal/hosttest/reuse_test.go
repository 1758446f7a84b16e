//go:build !wasip1

package hosttest

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// ends is what a profile needs besides the tested plugins.
type ends struct{ info plugin.Info }

func (e *ends) Info() *plugin.Info                                           { return &e.info }
func (*ends) Less(a, b *state.QueuedPod) bool                                { return a.Pod.Name < b.Pod.Name }
func (*ends) Bind(*plugin.Placement) (d plugin.Directives, _ *plugin.Status) { return d, nil }

// reusing tries pods against a cluster through one plugin, with kept answers.
type reusing struct {
	t        *testing.T
	cache    *cache.Cache
	snapshot *state.Snapshot
	cycle    *cycle.Cycle
	pipeline *pipeline.Pipeline
	plugin   *wasm.Plugin
	pods     int
}

const reusingNodes = 3000

func newReusing(t *testing.T, name, config string) *reusing {
	e := example(t, name)
	p, err := newPlugin(t, e, native(t, e), wasm.Config{Config: []byte(config), Shards: 2, VerifyEvery: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	workers, err := pipeline.NewWorkers(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(workers.Close)
	points := map[abi.Point][]pipeline.Entry{abi.QueueSort: {{Plugin: &ends{plugin.Info{Name: "Ends"}}}}}
	points[abi.Bind] = points[abi.QueueSort]
	for _, point := range p.Points() {
		points[point] = append(points[point], pipeline.Entry{Plugin: p})
	}
	w := &reusing{t: t, cache: cache.New(cache.Config{}), snapshot: state.NewSnapshot(), plugin: p}
	w.cycle = cycle.New(cycle.Config{Reuse: equivalence.Default()})
	if w.pipeline, err = pipeline.New(pipeline.Config{Profile: "p", Points: points, AllowUnenforced: state.FeatureRequests}, pipeline.Deps{
		Workers: workers, Broken: func(b pipeline.Broken) { t.Errorf("%s of %s at %s is not what it was", b.Point, b.Plugin.Name, b.Node) },
	}); err != nil {
		t.Fatal(err)
	}
	for i := range reusingNodes {
		w.node(i, "1", false)
	}
	return w
}

// node adds a node, or a heartbeat or another zone of it.
func (w *reusing) node(i int, version string, moved bool) {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%04d", i), ResourceVersion: version}}
	zone := i % 3
	if moved {
		zone++
	}
	n.Labels = map[string]string{v1.LabelTopologyZone: fmt.Sprint("zone-", zone)}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourcePods: resource.MustParse("110")}
	w.cache.AddNode(state.NewNode(n))
}

// place binds pods of other kinds to a node.
func (w *reusing) place(node int, kinds ...int) {
	for _, kind := range kinds {
		w.pods++
		object := noisyPod(fmt.Sprint("p", w.pods), 0)
		object.Namespace = fmt.Sprint("tenant-", kind)
		if err := w.cache.Assume(state.NewPod(object).On(fmt.Sprintf("n%04d", node), state.Patch{})); err != nil {
			w.t.Fatal(err)
		}
	}
}

// try places the next pod of a template, and returns how many calls with how many rows were
// made at Filter and Score.
func (w *reusing) try(assume bool) string {
	w.t.Helper()
	w.pods++
	w.cache.UpdateSnapshot(w.snapshot)
	object := noisyPod(fmt.Sprint("p", w.pods), 0)
	pod := state.NewPod(object)
	d := w.cycle.Schedule(cycle.Input{
		Context: w.t.Context(), Snapshot: w.snapshot, Pod: &state.QueuedPod{Pod: pod, Attempts: 1}, Pipeline: w.pipeline,
		Seed: uint64(2 * w.pods), Sequence: uint64(w.pods), // the check that asks again is off
	})
	w.pipeline.Settle(pod)
	if d.Node == nil {
		w.t.Fatal(d.Status.Message())
	}
	if assume {
		if err := w.cache.Assume(pod.On(d.Node.Name, state.Patch{})); err != nil {
			w.t.Fatal(err)
		}
	}
	out := ""
	for _, x := range d.Attempt.Timings {
		if x.Point == abi.Filter || x.Point == abi.Score {
			out += fmt.Sprintf("%s: %d about %d, %d reused; ", x.Point, x.Calls, x.Rows, x.Reused)
		}
	}
	return out
}

// TestReuseCounts: the cost of a pod follows the changes. After a placement, a plugin that
// reads labels is called for no row, and one that reads pods for one row in one call, unless
// it knows a row with such pods; after a heartbeat no plugin is called.
func TestReuseCounts(t *testing.T) {
	type step struct {
		what func(w *reusing)
		want string
	}
	nothing := func(*reusing) {}
	heartbeats := func(w *reusing) {
		for i := range reusingNodes {
			w.node(i, "2", false)
		}
	}
	for _, test := range []struct {
		name, config string
		steps        []step
	}{
		{"zone-cost", `{"zones": {"zone-0": 10, "zone-1": 12.5, "zone-2": 30, "zone-3": 5}}`, []step{
			{nothing, "Score: 3 about 3000, 0 reused; "}, // nothing is kept from the first pod
			{nothing, "Score: 3 about 9, 2991 reused; "}, // in each block of rows one of each zone
			{nothing, "Score: 0 about 0, 3000 reused; "},
			{heartbeats, "Score: 0 about 0, 3000 reused; "},
			{func(w *reusing) { w.node(1502, "3", true) }, "Score: 1 about 1, 2999 reused; "},
			{func(w *reusing) { w.node(1505, "3", true) }, "Score: 0 about 0, 3000 reused; "},     // as n1502
			{func(w *reusing) { w.cache.RemoveNode("n0007") }, "Score: 0 about 0, 2999 reused; "}, // another node has its row
			{func(w *reusing) { w.node(7, "1", false) }, "Score: 0 about 0, 3000 reused; "},
			{nothing, "Score: 0 about 0, 3000 reused; "},
		}},
		{"noisy-neighbour", `{"podsPerTenant": 4, "noisyPods": 6, "noisyMilliCPU": 40000}`, []step{
			{nothing, "Filter: 3 about 3000, 0 reused; Score: 3 about 3000, 0 reused; "},
			{nothing, "Filter: 3 about 4, 2996 reused; Score: 3 about 4, 2996 reused; "}, // empty nodes, and one with a pod
			{nothing, "Filter: 0 about 0, 3000 reused; Score: 0 about 0, 3000 reused; "}, // and two with one
			{heartbeats, "Filter: 0 about 0, 3000 reused; Score: 0 about 0, 3000 reused; "},
			{func(w *reusing) { w.place(0, 20, 21) }, "Filter: 1 about 1, 2999 reused; Score: 1 about 1, 2999 reused; "},
			{func(w *reusing) { w.place(1, 21, 20) }, "Filter: 0 about 0, 3000 reused; Score: 0 about 0, 3000 reused; "}, // the same in another order
			{func(w *reusing) { w.place(2, 22) }, "Filter: 1 about 1, 2999 reused; Score: 1 about 1, 2999 reused; "},
			{nothing, "Filter: 0 about 0, 3000 reused; Score: 0 about 0, 3000 reused; "},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newReusing(t, test.name, test.config)
			for i, s := range test.steps {
				s.what(w)
				if got := w.try(true); got != s.want {
					t.Errorf("step %d: %s, want %s", i+1, got, s.want)
				}
			}
		})
	}
}
