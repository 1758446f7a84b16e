package pipeline

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// A module nominates a node by a directive, and the place that its pod takes there is kept free of pods of
// equal or lower priority. So the plugins of all namespaces, but for the module itself, are asked whether the
// pod could go there. A native plugin has tried the node itself.

// checkNomination replaces a nomination by a module with one that means something: a node that the pod
// cannot go to is not nominated, nor does it stay nominated. reason is why.
func (r *Run) checkNomination(info *plugin.Info, result *plugin.PostFilterResult) (reason string) {
	if info.Digest == "" || !result.Override || result.NominatedNode == "" {
		return ""
	}
	leaving := func(pod *state.Pod) bool {
		return leaves(pod) || slices.Contains(result.Preemption.Victims, pod) ||
			slices.ContainsFunc(result.Reject, func(x plugin.Rejection) bool { return x.UID == pod.UID })
	}
	if reason = r.refuses(result.NominatedNode, info, leaving); reason != "" {
		result.NominatedNode, result.Preemption = "", plugin.Preemption{}
	}
	return reason
}

// checkNominated clears the nomination that a pod has from earlier, if a module may have made it and the pod
// cannot go there any more.
func (r *Run) checkNominated(out *PostFilterOutcome) {
	node, reason := nominatedNode(r.Cycle.Nominations, r.Cycle.Pod.UID), ""
	if out.Result.Override || node == "" {
		return
	}
	for _, s := range r.own.postFilter {
		if s.info.Digest == "" {
			continue
		}
		if reason = r.refuses(node, s.info, leaves); reason == "" {
			return
		}
	}
	if reason != "" {
		out.Result.Override, out.Result.NominatedNode = true, ""
		if out.Status == nil {
			out.Status = plugin.NewStatus(abi.Unschedulable)
		}
		out.Status.Reasons = append(out.Status.Reasons, reason)
	}
}

// leaves reports whether a pod is about to leave its node.
func leaves(pod *state.Pod) bool { return pod.Object.DeletionTimestamp != nil }

// nominatedNode returns the node that a pod is nominated to; empty if there is none.
func nominatedNode(n state.Nominations, uid types.UID) (found string) {
	if n == nil {
		return ""
	}
	n.Nodes(func(node string, pods []*state.Pod) bool {
		if slices.ContainsFunc(pods, func(pod *state.Pod) bool { return pod.UID == uid }) {
			found = node
		}
		return found == ""
	})
	return found
}

// refuses returns why the cycle's pod cannot go to a node once some pods have left it, by the plugins of all
// namespaces but for the one that nominates it; empty if it can.
func (r *Run) refuses(node string, by *plugin.Info, leaving func(*state.Pod) bool) string {
	row, known := r.Cycle.Snapshot.Row(node)
	_, in := slices.BinarySearch(r.subset, row)
	why := ""
	switch {
	case !known:
		why = "the cluster does not have it"
	case r.rejected:
		why = "preFilter rejects the pod"
	case r.subset != nil && !in:
		why = "preFilter leaves it out"
	default:
		status := r.judgeTrusted(row, by, leaving)
		if status.Success() {
			return ""
		}
		why = status.Message()
	}
	return fmt.Sprintf("node %s cannot be nominated: %s", node, why)
}

// judgeTrusted judges a node without some pods by the plugins of all namespaces but one.
func (r *Run) judgeTrusted(row uint32, not *plugin.Info, leaving func(*state.Pod) bool) *plugin.Status {
	was := slices.Clone(r.skipFilter)
	defer func() { copy(r.skipFilter, was) }()
	for _, i := range r.own.plugins {
		r.skipFilter[i] = r.skipFilter[i] || r.p.infos[i].Namespaces != nil || r.p.infos[i] == not
	}
	t := r.hypothetical(&r.Cycle, row, row)
	defer t.Close()
	for _, slot := range r.Cycle.Snapshot.Nodes.Pods.Row(row) {
		if pod := r.Cycle.Snapshot.Pods.Pod[slot]; leaving(pod) {
			if status := t.Remove(pod); !status.Success() {
				return status
			}
		}
	}
	return t.Judge()
}
