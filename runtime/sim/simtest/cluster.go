// Package simtest draws random clusters for tests of the simulator and of what uses it.
package simtest

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// DrawCluster returns a small cluster in which little fits, without an assembly.
func DrawCluster(t *rapid.T) (c sim.Config) {
	amount := func(label string, most int) resource.Quantity {
		return *resource.NewQuantity(int64(rapid.IntRange(0, most).Draw(t, label)), resource.DecimalSI)
	}
	taints := []v1.Taint{
		{Key: "a", Value: "x", Effect: v1.TaintEffectNoSchedule}, {Key: "a", Value: "y", Effect: v1.TaintEffectNoExecute},
		{Key: "b", Effect: v1.TaintEffectNoSchedule}, {Key: "b", Effect: v1.TaintEffectPreferNoSchedule},
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "nodes") {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%d", i), Labels: map[string]string{"zone": rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone")}}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: amount("nodeCPU", 8), v1.ResourcePods: amount("nodePods", 6)}
		if rapid.Bool().Draw(t, "hasGPU") {
			n.Status.Allocatable["example.com/gpu"] = amount("nodeGPU", 3)
		}
		n.Spec.Unschedulable = rapid.IntRange(0, 9).Draw(t, "unschedulable") == 0
		if rapid.IntRange(0, 2).Draw(t, "tainted") == 0 {
			n.Spec.Taints = rapid.SliceOfNDistinct(rapid.SampledFrom(taints), 1, 2, func(t v1.Taint) string { return t.Key }).Draw(t, "taints")
		}
		c.Nodes = append(c.Nodes, n)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "bound") {
		pod := drawPod(t, fmt.Sprintf("bound-%d", i))
		pod.Spec.SchedulingGates, pod.Spec.TopologySpreadConstraints = nil, nil
		pod.Spec.NodeName = fmt.Sprintf("n-%d", rapid.IntRange(0, 7).Draw(t, "on")) // perhaps one that does not exist
		c.Bound = append(c.Bound, state.NewPod(pod))
	}
	now := time.Duration(0)
	timed := rapid.Bool().Draw(t, "timed")
	for i := range rapid.IntRange(0, 14).Draw(t, "pods") {
		a := input.Arrival{Pod: drawPod(t, fmt.Sprintf("p-%d", i))}
		if timed {
			now += time.Duration(rapid.SampledFrom([]int{0, 0, 1, 20, 400, 90000}).Draw(t, "gap")) * time.Second
			a.At = now
			if rapid.Bool().Draw(t, "leaves") {
				a.Until = now + time.Duration(rapid.SampledFrom([]int{1, 30, 500, 86400}).Draw(t, "stay"))*time.Second
			}
		}
		c.Arrivals = append(c.Arrivals, a)
	}
	return c
}

func drawPod(t *rapid.T, name string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	priority := int32(rapid.IntRange(0, 2).Draw(t, "priority"))
	p.Spec.Priority = &priority
	container := v1.Container{Name: "c"}
	container.Resources.Requests = v1.ResourceList{}
	for i, name := range []v1.ResourceName{v1.ResourceCPU, "example.com/gpu"} {
		if n := rapid.IntRange(0, 5-3*i).Draw(t, string(name)); n > 0 {
			container.Resources.Requests[name] = *resource.NewQuantity(int64(n), resource.DecimalSI)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "hasPort") == 0 {
		container.Ports = []v1.ContainerPort{{
			HostPort: int32(rapid.IntRange(80, 81).Draw(t, "port")), Protocol: rapid.SampledFrom([]v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}).Draw(t, "protocol"),
			HostIP: rapid.SampledFrom([]string{"", "10.0.0.1", "10.0.0.2"}).Draw(t, "ip"),
		}}
	}
	p.Spec.Containers = []v1.Container{container}
	switch rapid.IntRange(0, 9).Draw(t, "where") {
	case 0:
		p.Spec.NodeSelector = map[string]string{"zone": "a"}
	case 1, 2:
		op := rapid.SampledFrom([]v1.NodeSelectorOperator{v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn}).Draw(t, "operator")
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: op, Values: []string{"a", "b"}}}}},
		}}}
	case 3: // a node by name, which PreFilter narrows down to
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{"n-1"}}}}},
		}}}
	case 4:
		p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}}
	case 5:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule}}
	}
	for _, key := range strings.Split(rapid.SampledFrom([]string{"", "a", "b", "a,b"}).Draw(t, "tolerates"), ",") {
		if key != "" {
			p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists})
		}
	}
	return p
}
