package sim_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// scaled returns a cluster of so many nodes in three zones, and pods of some templates,
// which all fit.
func scaled(nodes, pods, templates int) sim.Config {
	c := sim.Config{Assembly: assembly.Config{Seed: 1, Workers: 1, Scheduler: assembly.Default()}}
	for i := range nodes {
		c.Nodes = append(c.Nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%06d", i), UID: types.UID(fmt.Sprint("node-", i)), Labels: map[string]string{
				v1.LabelHostname: fmt.Sprintf("node-%06d", i), v1.LabelTopologyZone: fmt.Sprint("zone-", i%3),
			}},
			Status: v1.NodeStatus{Allocatable: v1.ResourceList{
				v1.ResourceCPU: resource.MustParse("32"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
			}},
		})
	}
	for i := range pods {
		k := i % templates
		c.Arrivals = append(c.Arrivals, input.Arrival{Pod: &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%07d", i), Namespace: "default", UID: types.UID(fmt.Sprint("pod-", i)), Labels: map[string]string{"app": fmt.Sprint("app-", k)}},
			Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "c", Image: "example.com/app", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU: *resource.NewMilliQuantity(int64(100+k%1000), resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(int64(200+k)<<20, resource.BinarySI),
			}}}}},
		}})
	}
	return c
}

// BenchmarkRepeated places pods of a few templates, with and without kept answers.
func BenchmarkRepeated(b *testing.B) {
	for _, nodes := range []int{1000, 5000, 20_000, 100_000} {
		benchmarkScaled(b, fmt.Sprint("nodes=", nodes), nodes, 4)
	}
}

// BenchmarkTemplates places pods of more and more templates, and pods that are all distinct.
func BenchmarkTemplates(b *testing.B) {
	for _, templates := range []int{1, 10, 100, 1000, 10_000} {
		benchmarkScaled(b, fmt.Sprint("templates=", templates), 5000, templates)
	}
}

func benchmarkScaled(b *testing.B, name string, nodes, templates int) {
	for _, kept := range []equivalence.Config{{}, equivalence.Default()} {
		b.Run(fmt.Sprintf("%s/reuse=%v", name, !kept.Off()), func(b *testing.B) {
			c := scaled(nodes, 10_000, templates)
			c.Assembly.Reuse = kept
			for b.Loop() {
				s, err := sim.New(c)
				if err != nil {
					b.Fatal(err)
				}
				r, err := s.Run(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(r.Summary.Seconds/float64(len(r.Placements))*1e6, "µs/pod")
			}
		})
	}
}
