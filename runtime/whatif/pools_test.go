package whatif_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// TestSeveralPools: with many pools, each with a taint of its own and too small, the taint of the only node that has room is found, although it is on the
// fewest nodes.
func TestSeveralPools(t *testing.T) {
	c := &whatif.Cluster{Scheduler: assembly.Config{Scheduler: assembly.Default(), Seed: 1}}
	tainted := func(name, cpu, key string) {
		n := node(name, cpu)
		n.Spec.Taints = []v1.Taint{{Key: key, Effect: v1.TaintEffectNoSchedule}}
		c.Nodes = append(c.Nodes, n)
	}
	for pool := range 6 {
		for i := range 3 {
			tainted(fmt.Sprintf("small-%d-%d", pool, i), "2", fmt.Sprintf("pool-%d", pool))
		}
	}
	tainted("roomy", "16", "zpool")
	a := ask(t, c, &whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "8", 0)}}, Explain: true})
	if len(a.Explanations) != 1 || a.Explanations[0].Change == nil || a.Explanations[0].Change.Kind != report.AddToleration || a.Explanations[0].Change.Node != "roomy" {
		t.Errorf("got %+v", a.Explanations)
	}
	a = ask(t, c, &whatif.Request{Pods: []whatif.Pods{{Pod: pod("p", "32", 0)}}, Explain: true})
	if e := a.Explanations[0]; e.Change != nil || e.Tried == 0 {
		t.Errorf("got %+v after %d trials", e.Change, e.Tried)
	}
}
