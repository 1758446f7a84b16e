package workload

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/pernode"
	"github.com/berth-scheduler/berth/hostplugins/nodeaffinity"
	"github.com/berth-scheduler/berth/hostplugins/noderesources"
	"github.com/berth-scheduler/berth/hostplugins/tainttoleration"
)

// Handwritten is a second baseline: node by node over API objects like Objects, but with code
// written for this workload (In requirements of one term, Equal tolerations), without the
// component-helpers functions and their allocations. It is a lower bound for the cost of a
// per-node design.
type Handwritten struct {
	nodes []*pernode.Node
	pods  []handwrittenPod
	out   Statuses

	tainted, mismatched []string
	lacking             [8][]string // by bits: pods, cpu, memory
}

type handwrittenPod struct {
	requirements []v1.NodeSelectorRequirement
	tolerations  []v1.Toleration
	cpu, memory  int64 // milli-CPU, bytes
}

var _ Pass = (*Handwritten)(nil)

// NewHandwritten prepares the pass.
func NewHandwritten(w Load) *Handwritten {
	h := &Handwritten{
		nodes:      pernode.Cluster(w.Nodes, w.Placed),
		out:        Statuses{Codes: make([]abi.Code, len(w.Nodes)), Reasons: make([][]string, len(w.Nodes))},
		tainted:    []string{tainttoleration.ReasonUntolerated},
		mismatched: []string{nodeaffinity.ReasonPod},
	}
	for bits := range h.lacking {
		for i, text := range []string{noderesources.ReasonTooManyPods, noderesources.ReasonInsufficient + "cpu", noderesources.ReasonInsufficient + "memory"} {
			if bits&(1<<i) != 0 {
				h.lacking[bits] = append(h.lacking[bits], text)
			}
		}
	}
	for _, pod := range w.Pods {
		requests := pod.Spec.Containers[0].Resources.Requests
		h.pods = append(h.pods, handwrittenPod{
			requirements: pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions,
			tolerations:  pod.Spec.Tolerations,
			cpu:          requests.Cpu().MilliValue(),
			memory:       requests.Memory().Value(),
		})
	}
	return h
}

// Filter filters all nodes for a pod.
func (h *Handwritten) Filter(pod int) Statuses {
	p := &h.pods[pod]
	for i, n := range h.nodes {
		h.out.Codes[i], h.out.Reasons[i] = h.judge(p, n)
	}
	return h.out
}

func (h *Handwritten) judge(p *handwrittenPod, n *pernode.Node) (abi.Code, []string) {
	for i := range n.Object.Spec.Taints {
		if !p.tolerates(&n.Object.Spec.Taints[i]) {
			return abi.UnschedulableAndUnresolvable, h.tainted
		}
	}
	for i := range p.requirements {
		value, ok := n.Object.Labels[p.requirements[i].Key]
		if !ok || !slices.Contains(p.requirements[i].Values, value) {
			return abi.UnschedulableAndUnresolvable, h.mismatched
		}
	}
	lacks := 0
	if n.Pods+1 > n.AllowedPods {
		lacks |= 1
	}
	if p.cpu > n.Allocatable.MilliCPU-n.Requested.MilliCPU {
		lacks |= 2
	}
	if p.memory > n.Allocatable.Memory-n.Requested.Memory {
		lacks |= 4
	}
	switch {
	case lacks == 0:
		return abi.Success, nil
	case p.cpu > n.Allocatable.MilliCPU || p.memory > n.Allocatable.Memory:
		return abi.UnschedulableAndUnresolvable, h.lacking[lacks]
	}
	return abi.Unschedulable, h.lacking[lacks]
}

func (p *handwrittenPod) tolerates(taint *v1.Taint) bool {
	if taint.Effect != v1.TaintEffectNoSchedule {
		return true
	}
	for i := range p.tolerations {
		t := &p.tolerations[i]
		if t.Key == taint.Key && t.Value == taint.Value && t.Effect == taint.Effect {
			return true
		}
	}
	return false
}
