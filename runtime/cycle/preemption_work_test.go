package cycle_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Each node of preempting has this many pods, whose priorities are 0, 1, 2 …
const podsOnNode = 10

// preempting is the native filters and DefaultPreemption over n full nodes, and
// pods of any priority that ask for half of a node.
func preempting(t testing.TB, n int) (schedule func(priority int) cycle.Decision, s *state.Snapshot) {
	w := newWorld(t, nil)
	registry := hostplugins.All(hostplugins.Deps{})
	for _, name := range []string{
		"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "DefaultPreemption",
	} {
		p, err := registry.New(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range plugin.Points(p) {
			w.profile.Points[point] = append(w.profile.Points[point], pipeline.Entry{Plugin: p})
		}
	}
	slot := uint32(0)
	for i := range n {
		if err := w.node(fmt.Sprintf("n%05d", i), scenario.MustParse("cpu=1000")); err != nil {
			t.Fatal(err)
		}
		for j := range podsOnNode {
			p, err := fake.Pod(fmt.Sprintf("p%05d-%d", i, j), scenario.MustParse(fmt.Sprintf("cpu=100 priority=%d started=%d", j, i*7919%1000)))
			if err != nil {
				t.Fatal(err)
			}
			w.infos[i].AddPod(state.PlacedPod{Pod: p, Slot: slot, Generation: uint64(slot + 1)})
			slot++
		}
	}
	pods := map[int]*state.Pod{}
	for priority := range podsOnNode + 1 {
		pod, err := fake.Pod("p", scenario.MustParse(fmt.Sprintf("cpu=500 priority=%d", priority)))
		if err != nil {
			t.Fatal(err)
		}
		pods[priority] = pod
	}
	s = w.snapshot()
	w.decide(s, pods[0])
	in := cycle.Input{
		Context: context.Background(), Snapshot: s, Pipeline: w.pipeline, Nominations: &nominations{}, Seed: 1,
	}
	return func(priority int) cycle.Decision {
		in.Sequence++
		in.Pod = &state.QueuedPod{Pod: pods[priority]}
		return w.cycle.Schedule(in)
	}, s
}

// preemptionCases are the priorities of the pod: what becomes of its preemption.
func preemptionCases(n int) []struct {
	name     string
	priority int
	tried    int // hypothetical nodes
	judged   int // times the filters run on one
} {
	enough := max(n/10, min(n, 100))
	return []struct {
		name          string
		priority      int
		tried, judged int
	}{
		// Each of enough nodes is judged without pods, and once for each that may stay.
		{"all may go", podsOnNode, enough, enough * (1 + podsOnNode)},
		{"half may go", podsOnNode / 2, enough, enough * (1 + podsOnNode/2)},
		// All nodes are judged without the pods that may go, in vain.
		{"too few may go", 1, n, n},
		{"none may go", 0, 0, 0},
	}
}

// TestPreemptionWork counts what a preemption costs: one hypothetical node a node until there
// are enough candidates, one run of the filters a pod that may stay, and two
// overlay rows in all.
func TestPreemptionWork(t *testing.T) {
	for _, n := range []int{50, 3000} {
		schedule, s := preempting(t, n)
		rows, slots := len(s.Nodes.Node), s.Pods.Len()
		for _, c := range preemptionCases(n) {
			d := schedule(c.priority)
			if preempts := len(d.Nomination.Preemption.Victims) > 0; preempts != (c.priority >= podsOnNode/2) {
				t.Errorf("%d nodes, %s: victims %v, %s", n, c.name, d.Attempt.Victims, d.Attempt.Message)
			}
			for _, timing := range d.Attempt.Timings {
				switch {
				case timing.Plugin == "DefaultPreemption" && timing.Point == abi.PostFilter && int(timing.Rows) != c.tried:
					t.Errorf("%d nodes, %s: %d hypothetical nodes, want %d", n, c.name, timing.Rows, c.tried)
				case timing.Plugin == "NodeResourcesFit" && timing.Point == abi.Filter && int(timing.Rows) != n+c.judged:
					t.Errorf("%d nodes, %s: %d rows filtered, want %d and %d", n, c.name, timing.Rows, n, c.judged)
				}
			}
			if len(s.Nodes.Node) != rows || rows > s.Capacity()+8 || s.Pods.Len() != slots {
				t.Errorf("%d nodes, %s: %d rows and %d slots after %d and %d, capacity %d", n, c.name,
					len(s.Nodes.Node), s.Pods.Len(), rows, slots, s.Capacity())
			}
		}
	}
}

// BenchmarkPreemption measures a decision that ends in a preemption, and what it
// counts.
func BenchmarkPreemption(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		schedule, _ := preempting(b, n)
		for _, c := range preemptionCases(n) {
			b.Run(fmt.Sprintf("nodes=%d/%s", n, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					schedule(c.priority)
				}
				b.ReportMetric(float64(c.tried), "nodes/op")
				b.ReportMetric(float64(c.judged), "judged/op")
			})
		}
	}
}
