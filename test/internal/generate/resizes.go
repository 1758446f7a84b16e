package generate

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// deferResize makes a placed pod one that may preempt, and whose kubelet has deferred the resize of a container.
func (g *Generator) deferResize(p *v1.Pod) {
	priority := pick(g, int32(1), 10, 100, 1000)
	p.Spec.Priority = &priority
	if g.chance(0.05) {
		p.Spec.PreemptionPolicy = pointer(v1.PreemptNever)
	}
	had := v1.ResourceList{}
	for name, quantity := range p.Spec.Containers[0].Resources.Requests {
		if parts := int64(1 + g.upTo(2)); name == v1.ResourceCPU {
			had[name] = *milli(quantity.MilliValue() / parts)
		} else {
			had[name] = *count(quantity.Value() / parts)
		}
	}
	p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: p.Spec.Containers[0].Name, AllocatedResources: had}}
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}}
}

// resizable makes a node one that has room for any number of pods: kube-scheduler counts a pod that waits for a resize twice
// (docs/differences.md). Some allow no preemption for resizes.
func (g *Generator) resizable(n *v1.Node) {
	n.Status.Allocatable[v1.ResourcePods], n.Spec.PodPreemptionPolicy = *count(110), nil
	if g.chance(0.15) {
		n.Spec.PodPreemptionPolicy = &v1.NodePodPreemptionPolicy{DisableResizePreemption: []string{"someone"}}
	}
}

// deferred picks a placed pod whose resize is deferred, or draws a new pod if there is none.
func (c *cluster) deferred() *v1.Pod {
	waiting := slices.DeleteFunc(slices.Clone(c.pods), func(p *v1.Pod) bool { return !resourcehelper.IsPodResizeDeferred(p) })
	if len(waiting) == 0 {
		p := c.g.pod(c.names())
		p.Spec.SchedulingGates = nil
		return p
	}
	return pick(c.g, waiting...)
}
