package defaultpreemption

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// ineligible returns why the pod may not preempt; empty if it may. A pod that has already
// preempted waits for its victims to terminate, unless the node was rejected for a reason that
// no preemption resolves.
func ineligible(c *plugin.Cycle, d *plugin.Diagnosis) string {
	if policy := c.Pod.Object.Spec.PreemptionPolicy; policy != nil && *policy == v1.PreemptNever {
		return ReasonNever
	}
	row, known := c.Snapshot.Row(nominated(c))
	if !known || d.Codes[row] == abi.UnschedulableAndUnresolvable && !d.OnWord(row) {
		return ""
	}
	for _, slot := range c.Snapshot.Nodes.Pods.Row(row) {
		if c.Snapshot.Pods.Priority[slot] < c.Pod.Priority && preempted(c.Snapshot.Pods.Pod[slot].Object) {
			return ReasonTerminating
		}
	}
	return ""
}

// nominated returns the node that the pod is nominated to. The queue knows it before it is
// written to the pod. A pod that waits for a resize is never nominated: it has made others leave its own node.
func nominated(c *plugin.Cycle) string {
	if c.Resize {
		return c.Pod.NodeName()
	}
	node := c.Pod.NominatedNode()
	if node != "" || c.Nominations == nil {
		return node
	}
	for name, pods := range c.Nominations.Nodes {
		if slices.ContainsFunc(pods, func(p *state.Pod) bool { return p.UID == c.Pod.UID }) {
			return name
		}
	}
	return ""
}

// preempted reports whether the pod is terminating because a scheduler preempted it.
func preempted(pod *v1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.DisruptionTarget {
			return c.Status == v1.ConditionTrue && c.Reason == v1.PodReasonPreemptionByScheduler
		}
	}
	return false
}
