package podtopologyspread

import (
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/berth-scheduler/berth/runtime/state"
)

// afterPodChange queues the pod when a pod that it counts was added or deleted, began to terminate, or came to match or
// no longer matches by a label change; when its own labels changed, because selectors may contain them (matchLabelKeys);
// and when its own tolerations changed and a constraint honours taints.
func (p *PodTopologySpread) afterPodChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	before, now := object.OldPod, object.NewPod
	if before == nil && now == nil {
		return state.Queue, errors.New("the event of a pod has no pod")
	}
	if now != nil && !counts(pod, now) || before != nil && !counts(pod, before) {
		return state.QueueSkip, nil
	}
	constraints, err := p.constraints(pod, v1.DoNotSchedule)
	if err != nil {
		return state.Queue, err
	}
	if before != nil && now != nil {
		return afterPodUpdate(pod, before, now, constraints), nil
	}
	changed := now
	if changed == nil {
		changed = before
	}
	for i := range constraints {
		if constraints[i].Selector.Matches(labels.Set(changed.Object.Labels)) {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}

func afterPodUpdate(pod, before, now *state.Pod, constraints []state.SpreadConstraint) state.Hint {
	terminates := before.Object.DeletionTimestamp == nil && now.Object.DeletionTimestamp != nil
	relabelled := !maps.Equal(before.Object.Labels, now.Object.Labels)
	if pod.UID == now.UID && relabelled && len(constraints) > 0 {
		return state.Queue
	}
	if pod.UID == now.UID && !equality.Semantic.DeepEqual(before.Tolerations, now.Tolerations) {
		for i := range constraints {
			if constraints[i].HonorTaints {
				return state.Queue
			}
		}
	}
	for i := range constraints {
		if !terminates && !relabelled {
			break
		}
		matched := constraints[i].Selector.Matches(labels.Set(before.Object.Labels))
		if matched && terminates || matched != constraints[i].Selector.Matches(labels.Set(now.Object.Labels)) {
			return state.Queue
		}
	}
	return state.QueueSkip
}

// counts reports whether a change of another pod can affect the pod: a pod of the same
// namespace that is assigned or nominated to a node, or the pod itself.
func counts(pod, other *state.Pod) bool {
	if pod.UID == other.UID {
		return true
	}
	return (other.NodeName() != "" || other.NominatedNode() != "") && pod.Namespace == other.Namespace
}

// afterNodeChange queues the pod when a node with the labels of all constraints was added or
// deleted, or when a node gained, lost or changed one of these labels, or its taints changed; and
// when the pod's node affinity came to match such a node, or no longer matches it, and a constraint
// honours that.
func (p *PodTopologySpread) afterNodeChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	before, now := object.OldNode, object.NewNode
	if before == nil && now == nil {
		return state.Queue, errors.New("the event of a node has no node")
	}
	constraints, err := p.constraints(pod, v1.DoNotSchedule)
	if err != nil {
		return state.Queue, err
	}
	had, has := hasLabels(before, constraints), hasLabels(now, constraints)
	if before == nil || now == nil {
		return hint(had || has), nil
	}
	if had != has || has && (otherDomain(before, now, constraints) ||
		!equality.Semantic.DeepEqual(before.Object.Spec.Taints, now.Object.Spec.Taints)) {
		return state.Queue, nil
	}
	if !has || !slices.ContainsFunc(constraints, func(c state.SpreadConstraint) bool { return c.HonorAffinity }) {
		return state.QueueSkip, nil
	}
	// Terms that cannot be parsed match no node, before and after, as in the filter.
	required := nodeaffinity.GetRequiredNodeAffinity(pod.Object)
	matched, _ := required.Match(before.Object)
	matches, _ := required.Match(now.Object)
	return hint(matched != matches), nil
}

func hint(queue bool) state.Hint {
	if queue {
		return state.Queue
	}
	return state.QueueSkip
}

// hasLabels reports whether a node, if there is one, has the labels of all
// constraints.
func hasLabels(n *state.Node, constraints []state.SpreadConstraint) bool {
	if n == nil {
		return false
	}
	for i := range constraints {
		if _, ok := n.Object.Labels[constraints[i].TopologyKey]; !ok {
			return false
		}
	}
	return true
}

func otherDomain(a, b *state.Node, constraints []state.SpreadConstraint) bool {
	for i := range constraints {
		if key := constraints[i].TopologyKey; a.Object.Labels[key] != b.Object.Labels[key] {
			return true
		}
	}
	return false
}
