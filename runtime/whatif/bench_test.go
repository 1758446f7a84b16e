package whatif_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// BenchmarkAsk asks about 10 pods of each of 100 templates, on 5,000 nodes with 10 pods each.
func BenchmarkAsk(b *testing.B) {
	const nodes, podsEach, templates, pods = 5000, 10, 100, 10
	c := &whatif.Cluster{Scheduler: assembly.Config{Scheduler: assembly.Default(), Seed: 1, Workers: 1, Reuse: equivalence.Default()}}
	for i := range nodes {
		n := node(fmt.Sprintf("node-%d", i), "32")
		n.Labels[v1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%3)
		c.Nodes = append(c.Nodes, n)
		for j := range podsEach {
			c.Bound = append(c.Bound, state.NewPod(pod(fmt.Sprintf("bound-%d-%d", i, j), "1", 0, on(n.Name))))
		}
	}
	r := &whatif.Request{APIVersion: whatif.APIVersion, Kind: whatif.RequestKind}
	for i := range templates {
		r.Pods = append(r.Pods, whatif.Pods{Pod: pod(fmt.Sprintf("p-%d", i), fmt.Sprintf("%dm", 500+10*i), 0), Count: pods})
	}
	if err := r.Check(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a, err := c.Ask(b.Context(), r)
		if err != nil || a.Summary.Fit != templates*pods {
			b.Fatalf("%v, %+v", err, a)
		}
	}
}
