package interpodaffinity

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

func events() []plugin.Event {
	on := func(resource state.EventResource, action state.Action) state.ClusterEvent {
		return state.ClusterEvent{Resource: resource, Action: action}
	}
	return []plugin.Event{
		{ClusterEvent: on(state.AssignedPodResource, state.Add|state.UpdatePodLabel|state.Delete), Hint: afterPodChange},
		{ClusterEvent: on(state.TargetPodResource, state.UpdatePodLabel), Hint: afterPodChange},
		{ClusterEvent: on(state.NodeResource, state.Add|state.Delete|state.UpdateNodeLabel), Hint: afterNodeChange},
		{ClusterEvent: on(state.NamespaceResource, state.Add|state.Delete|state.Update), Hint: afterNamespaceChange},
	}
}

// afterPodChange queues the pod after a change of its own labels, and after a change of another pod that
//   - all terms of its affinity match now and did not before, or the other way round if it may be the first of its
//     affinity group;
//   - a term of its anti-affinity matched before and does not now;
//   - is gone and had anti-affinity with a term that matches the pod.
//
// A term that selects namespaces by their labels counts as matching all namespaces: hints do not see namespaces.
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
	had, has := mayMatchAll(affinity, before), mayMatchAll(affinity, now)
	if has && !had || had && !has && mayMatchAll(affinity, pod) {
		return state.Queue, nil
	}
	for i := range anti {
		if mayMatch(&anti[i], before) && !mayMatch(&anti[i], now) {
			return state.Queue, nil
		}
	}
	if now != nil || before.Affinity == nil {
		return state.QueueSkip, nil
	}
	others := before.Affinity.RequiredAnti
	repels := slices.ContainsFunc(others.List, func(t state.PodTerm) bool { return mayMatch(&t, pod) })
	return hint(others.Err != nil || repels), others.Err
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

// mayMatch reports whether a term matches a pod, if there is one, for some labels of the pod's namespace.
func mayMatch(t *state.PodTerm, pod *state.Pod) bool {
	return pod != nil && (t.Names(pod.Namespace) || t.EveryNamespace || selectsNamespaces(t)) &&
		t.Selector.Matches(labels.Set(pod.Object.Labels))
}

// mayMatchAll reports whether there are terms and all may match a pod.
func mayMatchAll(terms []state.PodTerm, pod *state.Pod) bool {
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t state.PodTerm) bool { return !mayMatch(&t, pod) })
}

// afterNodeChange queues the pod when a node
//   - was added that has a topology label of its affinity, or any node if the pod has no affinity or has anti-affinity;
//   - gained or changed a domain of its affinity, or lost one if the pod may be the first of its affinity group;
//   - lost or changed a domain of its anti-affinity or of any label, because pods of that domain may have repelled
//     the pod, or was deleted with a label.
func afterNodeChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.OldNode == nil && object.NewNode == nil {
		return state.Queue, errors.New("the event of a node has no node")
	}
	affinity, anti, err := requiredTerms(pod)
	if err != nil {
		return state.Queue, err
	}
	before, now := nodeLabels(object.OldNode), nodeLabels(object.NewNode)
	if object.OldNode == nil && (len(affinity) == 0 || len(anti) > 0) {
		return state.Queue, nil
	}
	for i := range affinity {
		was, had := before[affinity[i].TopologyKey]
		is, has := now[affinity[i].TopologyKey]
		if has && (!had || was != is) {
			return state.Queue, nil
		}
	}
	for key, was := range before {
		if is, has := now[key]; !has || was != is {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}

func nodeLabels(n *state.Node) map[string]string {
	if n == nil {
		return nil
	}
	return n.Object.Labels
}

// afterNamespaceChange queues the pod when the labels of its own namespace changed, because the anti-affinity of
// others may select it by them; and when a term of its affinity selects a namespace that it did not select before, or
// the other way round, or a term of its anti-affinity no longer selects one.
func afterNamespaceChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	before, _ := object.Old.(*v1.Namespace)
	now, _ := object.New.(*v1.Namespace)
	if before == nil && now == nil {
		return state.Queue, errors.New("the event of a namespace has no namespace")
	}
	affinity, anti, err := requiredTerms(pod)
	if err != nil {
		return state.Queue, err
	}
	if before != nil && before.Name == pod.Namespace || now != nil && now.Name == pod.Namespace {
		return state.Queue, nil
	}
	for i := range affinity {
		if selectsNamespace(&affinity[i], before) != selectsNamespace(&affinity[i], now) {
			return state.Queue, nil
		}
	}
	for i := range anti {
		if selectsNamespace(&anti[i], before) && !selectsNamespace(&anti[i], now) {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}

// selectsNamespace reports whether a term applies to the pods of a namespace, if it exists.
func selectsNamespace(t *state.PodTerm, namespace *v1.Namespace) bool {
	return t.EveryNamespace || namespace != nil && (t.Names(namespace.Name) || t.NamespaceSelector.Matches(labels.Set(namespace.Labels)))
}

func hint(queue bool) state.Hint {
	if queue {
		return state.Queue
	}
	return state.QueueSkip
}
