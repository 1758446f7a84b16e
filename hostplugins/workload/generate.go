// Package workload is the reference workload: one filter pass of a pod over the nodes of a
// cluster, as counted in Berth's measurements.
// A pass checks resources (cpu, memory, pods), two required In requirements (two of three
// zones; another label) and three taints against three tolerations, for nodes with 20 labels.
// 64 distinct pods are scheduled in turn. Objects is the baseline: the component-helpers
// functions that kube-scheduler calls, node by node. Handwritten is the same without them.
// Columns runs the native plugins. All must agree.
package workload

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Pods is the number of distinct pods to schedule.
	Pods = 64
	// Seed is the seed that published numbers use.
	Seed = 1

	labels = 20 // of each node
	pools  = 10
)

// Load holds the API objects of the reference workload.
type Load struct {
	Nodes []*v1.Node
	// Placed is the pods on nodes, which make some of the nodes full.
	Placed []*v1.Pod
	// Pods is the distinct pods to schedule.
	Pods []*v1.Pod
}

// Generate creates a workload. Equal arguments give equal workloads.
func Generate(nodes int, seed uint64) Load {
	r := rand.New(rand.NewPCG(seed, uint64(nodes)))
	var w Load
	for i := range nodes {
		n := node(r, i)
		w.Nodes = append(w.Nodes, n)
		// Two pods use 25 to 105 % of the node's cpu and memory, so that some nodes are full.
		for range 2 {
			w.Placed = append(w.Placed, pod(fmt.Sprintf("placed-%05d", len(w.Placed)), n.Name,
				4000+r.Int64N(12800), 16+r.Int64N(52)))
		}
	}
	for i := range Pods {
		w.Pods = append(w.Pods, incoming(r, i))
	}
	return w
}

func node(r *rand.Rand, i int) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%05d", i)}}
	n.UID = types.UID(n.Name)
	n.Labels = map[string]string{
		v1.LabelHostname:     n.Name,
		v1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3),
		"example.com/pool":   fmt.Sprintf("pool-%d", r.IntN(pools)),
	}
	for len(n.Labels) < labels {
		key := fmt.Sprintf("example.com/label-%02d", len(n.Labels))
		n.Labels[key] = fmt.Sprintf("value-%d", r.IntN(8))
	}
	allocatable := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(32, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(128<<30, resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
	n.Status.Allocatable, n.Status.Capacity = allocatable, allocatable
	for j := range 3 {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{
			Key:    fmt.Sprintf("example.com/taint-%d", j),
			Value:  fmt.Sprintf("value-%d", r.IntN(8)/7), // one in eight is value-1
			Effect: v1.TaintEffectNoSchedule,
		})
	}
	return n
}

// pod creates a pod with requests in milli-CPU and Gi of memory; node may be empty.
func pod(name, node string, cpu, memory int64) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "reference", Name: name, UID: types.UID(name)}}
	p.Spec.NodeName = node
	p.Spec.Containers = []v1.Container{{
		Name:  "main",
		Image: "example.com/app:v1",
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(memory<<30, resource.BinarySI),
		}},
	}}
	return p
}

// incoming creates a pod that requires two of the zones and half of the pools, and tolerates
// the common values of the three taints.
func incoming(r *rand.Rand, i int) *v1.Pod {
	p := pod(fmt.Sprintf("pod-%02d", i), "", 500+250*r.Int64N(32), 1+r.Int64N(32))
	zones := []string{fmt.Sprintf("zone-%d", i%3), fmt.Sprintf("zone-%d", (i+1)%3)}
	var wanted []string
	for j := range pools / 2 {
		wanted = append(wanted, fmt.Sprintf("pool-%d", (i+j)%pools))
	}
	in := func(key string, values []string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}
	}
	p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{in(v1.LabelTopologyZone, zones), in("example.com/pool", wanted)},
		}}},
	}}
	for j := range 3 {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{
			Key: fmt.Sprintf("example.com/taint-%d", j), Operator: v1.TolerationOpEqual, Value: "value-0", Effect: v1.TaintEffectNoSchedule,
		})
	}
	return p
}
