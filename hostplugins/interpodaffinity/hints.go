package interpodaffinity

import (
	"errors"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/runtime/state"
)

// afterPodChange queues the pod when another pod that its required affinity matches was added,
// or one that its required anti-affinity matches was deleted, or when a label change had one of
// these effects; and when its own labels changed, because the anti-affinity of others may have
// matched them.
// As in kube-scheduler v1.36 namespace labels are ignored (kubernetes issue 141953).
func afterPodChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	before, now := object.OldPod, object.NewPod
	switch {
	case before == nil && now == nil:
		return state.Queue, errors.New("the event of a pod has no pod")
	case before != nil && now != nil && pod.UID == now.UID:
		return state.Queue, nil
	case before != nil && !placed(before), now != nil && !placed(now):
		return state.QueueSkip, nil
	}
	affinity, anti, err := requiredTerms(pod)
	if err != nil {
		return state.Queue, err
	}
	switch {
	case before != nil && now != nil:
		return hint(!matchAll(affinity, before) && matchAll(affinity, now) ||
			matchAll(anti, before) && !matchAll(anti, now)), nil
	case now != nil:
		return hint(matchAll(affinity, now)), nil
	case matchAll(anti, before):
		return state.Queue, nil
	}
	if before.Affinity == nil {
		return state.QueueSkip, nil
	}
	others := before.Affinity.RequiredAnti
	return hint(others.Err != nil || matchAll(others.List, pod)), others.Err
}

// placed reports whether a pod is assigned or nominated to a node.
func placed(pod *state.Pod) bool { return pod.NodeName() != "" || pod.NominatedNode() != "" }

// requiredTerms returns the required terms of affinity and of anti-affinity.
func requiredTerms(pod *state.Pod) (affinity, anti []state.PodTerm, err error) {
	a := pod.Affinity
	if a == nil {
		return nil, nil, nil
	}
	if a.Required.Err != nil {
		return nil, nil, a.Required.Err
	}
	return a.Required.List, a.RequiredAnti.List, a.RequiredAnti.Err
}

// matchAll reports whether there are terms and all match a pod.
func matchAll(terms []state.PodTerm, pod *state.Pod) bool {
	for i := range terms {
		t := &terms[i]
		if !t.Names(pod.Namespace) && !t.EveryNamespace || !t.Selector.Matches(labels.Set(pod.Object.Labels)) {
			return false
		}
	}
	return len(terms) > 0
}

// afterNodeChange queues the pod when a node was added that has a topology label of its
// affinity, or any node if the pod has anti-affinity; and when a node has gained or changed a
// domain of affinity, or lost or changed one of anti-affinity.
func afterNodeChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewNode == nil {
		return state.Queue, errors.New("the event of an added or updated node has no node")
	}
	affinity, anti, err := requiredTerms(pod)
	if affinity == nil && err != nil {
		return state.Queue, err
	}
	now := object.NewNode.Object.Labels
	var before map[string]string
	if object.OldNode != nil {
		before = object.OldNode.Object.Labels
	}
	for i := range affinity {
		was, had := before[affinity[i].TopologyKey]
		is, has := now[affinity[i].TopologyKey]
		if has && (!had || was != is) {
			return state.Queue, nil
		}
	}
	if err != nil {
		return state.Queue, err
	}
	for i := range anti {
		was, had := before[anti[i].TopologyKey]
		is, has := now[anti[i].TopologyKey]
		if object.OldNode == nil || had && (!has || was != is) {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}

func hint(queue bool) state.Hint {
	if queue {
		return state.Queue
	}
	return state.QueueSkip
}
