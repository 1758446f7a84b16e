package hostplugins_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/hostplugins/workload"
	"github.com/berth-scheduler/berth/runtime/state"
)

func decoded(pod *v1.Pod) *state.Pod { return state.NewPod(pod) }

// full adds to the reference workload what the other plugins look at: cordons, host ports,
// images, preferred affinity, PreferNoSchedule taints.
func full(nodes int) workload.Load {
	w := workload.Generate(nodes, workload.Seed)
	r := rand.New(rand.NewPCG(workload.Seed, 2))
	for i, n := range w.Nodes {
		n.Spec.Unschedulable = i%50 == 0
		if i%4 == 0 {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "example.com/busy", Effect: v1.TaintEffectPreferNoSchedule})
		}
		for j := range 20 {
			image := fmt.Sprintf("example.com/image-%02d:v1", (i+j*j)%40)
			n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{image}, SizeBytes: int64(50+len(image)+(i+j*j)%40*10) << 20})
		}
	}
	for i, p := range w.Placed {
		if i%5 == 0 {
			p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: int32(8000 + r.IntN(10)), Protocol: v1.ProtocolTCP}}
		}
	}
	for i, p := range w.Pods {
		c := &p.Spec.Containers[0]
		c.Image = fmt.Sprintf("example.com/image-%02d:v1", i%40)
		if i%4 == 0 {
			c.Ports = []v1.ContainerPort{{HostPort: int32(8000 + i%10), Protocol: v1.ProtocolTCP}}
		}
		a := p.Spec.Affinity.NodeAffinity
		for j := range 2 {
			a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, v1.PreferredSchedulingTerm{
				Weight: int32(10 + 20*j),
				Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{
					Key: fmt.Sprintf("example.com/label-%02d", 5+j), Operator: v1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("value-%d", i%8)},
				}}},
			})
		}
	}
	return w
}

// BenchmarkOnePod schedules each of 64 pods over all nodes, one after the other.
func BenchmarkOnePod(b *testing.B) {
	sizes := []int{100, 1000, 5000, 15000}
	for _, nodes := range sizes {
		w := full(nodes)
		var p profile
		p.withDefaults()
		b.Run(fmt.Sprintf("plugins=full/nodes=%d", nodes), func(b *testing.B) {
			chain, snapshot := p.columns(b), plugintest.Snapshot(w.Nodes, w.Placed)
			var pods []*state.Pod
			for _, pod := range w.Pods {
				pods = append(pods, decoded(pod))
			}
			var r plugintest.Result
			i := 0
			for b.Loop() {
				chain.Run(snapshot, pods[i%len(pods)], &r)
				i++
			}
		})
	}
	for _, nodes := range sizes {
		w := workload.Generate(nodes, workload.Seed)
		columns, err := workload.NewColumns(w)
		if err != nil {
			b.Fatal(err)
		}
		run := func(impl string, pass workload.Pass) {
			b.Run(fmt.Sprintf("plugins=reference/impl=%s/nodes=%d", impl, nodes), func(b *testing.B) {
				i := 0
				for b.Loop() {
					pass.Filter(i % workload.Pods)
					i++
				}
			})
		}
		run("columns", columns)
		run("objects", workload.NewObjects(w))
		run("handwritten", workload.NewHandwritten(w))
	}
}

// TestFullWorkload compares both implementations of the plugins that have two.
func TestFullWorkload(t *testing.T) {
	w := full(500)
	var p profile
	p.withDefaults()
	if err := p.difference(t, w.Nodes, w.Placed, w.Pods...); err != nil {
		t.Error(err)
	}
}
