package hostplugins_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// newCycle is a cycle in which PreFilter and PreScore have run.
func newCycle(chain *plugintest.Columns, s *state.Snapshot, pod *state.Pod) *plugin.Cycle {
	c := &plugin.Cycle{Context: context.Background(), Snapshot: s, Pod: pod, State: &state.CycleState{}}
	for _, f := range chain.Filters {
		if p, ok := f.(plugin.PreFilter); ok {
			p.PreFilter(c)
		}
	}
	for _, w := range chain.Scores {
		if p, ok := w.Plugin.(plugin.PreScore); ok {
			p.PreScore(c, nil)
		}
	}
	return c
}

func rowsOf(s *state.Snapshot) []uint32 {
	rows := make([]uint32, s.Len())
	for i := range rows {
		rows[i] = uint32(i)
	}
	return rows
}

// verdicts formats the verdicts of a filter.
func verdicts(f plugin.Filter, c *plugin.Cycle, rows []uint32) []string {
	var v plugin.Verdicts
	v.Reset(len(rows))
	f.Filter(c, rows, &v)
	out := make([]string, len(rows))
	for i := range rows {
		out[i] = fmt.Sprintf("%v %q", v.Codes[i], v.Texts(i))
	}
	return out
}

// TestCalls checks what the scheduler relies on: a verdict depends neither on how rows are
// split over calls and goroutines, nor on the state that PreFilter left, nor on whether the row
// is a node or an overlay of it.
func TestCalls(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		g := gen{rt}
		p := g.profile()
		var nodes []*v1.Node
		for i := range 2 + g.number("nodes", 10) {
			nodes = append(nodes, g.node(i))
		}
		var placed []*v1.Pod
		for i := range g.number("placed", 8) {
			placed = append(placed, g.pod(100+i, len(nodes), true))
		}
		s, chain, pod := plugintest.Snapshot(nodes, placed), p.columns(t), decoded(g.pod(0, len(nodes), false))
		c, rows := newCycle(chain, s, pod), rowsOf(s)
		bare := *c
		bare.State = &state.CycleState{}
		added := decoded(g.pod(200, len(nodes), true))

		for _, f := range chain.Filters {
			name := f.Info().Name
			want := verdicts(f, c, rows)
			check := func(how string, got []string) {
				if !slices.Equal(got, want) {
					rt.Fatalf("%s %s: %v, want %v", name, how, got, want)
				}
			}
			check("without state", verdicts(f, &bare, rows))
			var even, odd []uint32
			for _, row := range rows {
				if row%2 == 0 {
					even = append(even, row)
				} else {
					odd = append(odd, row)
				}
			}
			var parts [2][]string
			var group sync.WaitGroup
			for i, part := range [][]uint32{even, odd} {
				group.Go(func() { parts[i] = verdicts(f, c, part) })
			}
			group.Wait()
			joined := make([]string, len(rows))
			for i := range joined {
				joined[i] = parts[i%2][i/2]
			}
			check("by two goroutines", joined)
			check("on overlays", verdicts(f, c, overlays(s, rows)))
			s.DropOverlays()
		}

		// Overlays with an additional pod are like a cluster in which all nodes have it.
		over := overlays(s, rows)
		for _, o := range over {
			s.AddPod(o, added)
		}
		for _, node := range nodes {
			more := added.Object.DeepCopy()
			more.Spec.NodeName = node.Name
			placed = append(placed, more)
		}
		full := plugintest.Snapshot(nodes, placed)
		there := newCycle(chain, full, pod)
		for _, f := range chain.Filters {
			if got, want := verdicts(f, c, over), verdicts(f, there, rows); !slices.Equal(got, want) {
				rt.Fatalf("%s on overlays with a pod more: %v, want %v", f.Info().Name, got, want)
			}
		}
		for _, o := range over {
			if !s.RemovePod(o, added.UID) {
				rt.Fatal("the pod is not on the overlay")
			}
		}
		for _, f := range chain.Filters {
			if got, want := verdicts(f, c, over), verdicts(f, c, rows); !slices.Equal(got, want) {
				rt.Fatalf("%s on overlays restored: %v, want %v", f.Info().Name, got, want)
			}
		}
		s.DropOverlays()
		scoresWithoutState(rt, chain, c, &bare, rows)
	})
}

func overlays(s *state.Snapshot, rows []uint32) []uint32 {
	out := make([]uint32, len(rows))
	for i, row := range rows {
		out[i] = s.Overlay(row)
	}
	return out
}

func scoresWithoutState(rt *rapid.T, chain *plugintest.Columns, c, bare *plugin.Cycle, rows []uint32) {
	for _, w := range chain.Scores {
		a, b := make([]int64, len(rows)), make([]int64, len(rows))
		x, y := w.Plugin.Score(c, rows, a), w.Plugin.Score(bare, rows, b)
		if x.CodeOf() != y.CodeOf() || x.Success() && !slices.Equal(a, b) {
			rt.Fatalf("%s: %v %v with PreScore, %v %v without", w.Plugin.Info().Name, x.CodeOf(), a, y.CodeOf(), b)
		}
	}
}

// TestAllocations checks that the number of allocations of filters and scores does not grow
// with the number of rows.
func TestAllocations(t *testing.T) {
	measure := func(nodes int) map[string]float64 {
		w := full(nodes)
		var p profile
		p.withDefaults()
		chain, s := p.columns(t), plugintest.Snapshot(w.Nodes, w.Placed)
		pod, rows := decoded(w.Pods[4]), rowsOf(s)
		c := newCycle(chain, s, pod)
		out := map[string]float64{}
		var v plugin.Verdicts
		for _, f := range chain.Filters {
			v.Reset(len(rows))
			f.Filter(c, rows, &v)
			out["filter "+f.Info().Name] = testing.AllocsPerRun(20, func() {
				v.Reset(len(rows))
				f.Filter(c, rows, &v)
			})
		}
		scores := make([]int64, len(rows))
		for _, w := range chain.Scores {
			out["score "+w.Plugin.Info().Name] = testing.AllocsPerRun(20, func() {
				clear(scores)
				w.Plugin.Score(c, rows, scores)
			})
		}
		return out
	}
	small, large := measure(2000), measure(8000)
	for name, allocations := range large {
		if allocations != small[name] {
			t.Errorf("%s allocates %v times for 2,000 rows and %v times for 8,000", name, small[name], allocations)
		}
		limit := 0.0
		switch name {
		case "filter NodeResourcesFit":
			limit = 16 // the sets of reasons of this call
		case "filter NodeDeclaredFeatures":
			limit = 2 // what the pod needs, which PreFilter does not keep if it is empty
		}
		if allocations > limit {
			t.Errorf("%s allocates %v times, want at most %v", name, allocations, limit)
		}
	}
}

// TestManyScalars takes the path for pods with more scalar requests than a mask has bits.
func TestManyScalars(t *testing.T) {
	var nodes []*v1.Node
	pod := (&podText{Name: "p", Requests: v1.ResourceList{}}).object()
	for i := range 3 {
		n := (&nodeText{Name: fmt.Sprint("n", i)}).object()
		n.Status.Allocatable = n.Status.Allocatable.DeepCopy()
		nodes = append(nodes, n)
	}
	one := nodes[0].Status.Allocatable[v1.ResourcePods]
	for i := range 80 {
		name := v1.ResourceName(fmt.Sprintf("example.com/r%02d", i))
		pod.Spec.Containers[0].Resources.Requests[name] = one
		nodes[0].Status.Allocatable[name] = one
		if i != 70 {
			nodes[1].Status.Allocatable[name] = one
		}
	}
	var p profile
	p.withDefaults()
	if err := p.difference(t, nodes, nil, pod); err != nil {
		t.Error(err)
	}
	chain := p.columns(t)
	var r plugintest.Result
	chain.Run(plugintest.Snapshot(nodes, nil), decoded(pod), &r)
	if want := []string{"Insufficient example.com/r70"}; r.Code[0] != abi.Success || !slices.Equal(r.Reasons[1], want) || len(r.Reasons[2]) != 80 {
		t.Errorf("got %v %q", r.Code, r.Reasons)
	}
}
