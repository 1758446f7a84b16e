package whatif

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/runtime/state"
)

// near says what keeps a pod off each node, as far as one change can remove it. With several node pools, the taint of the most nodes or the
// node with the most room is often not the one that matters: changes are looked for first where nothing else is in the way.
type near struct {
	taints    []v1.Taint
	selected  bool           // by node selector and affinity
	short     int            // resources
	unmatched map[string]int // how many requirements on a label are not met
}

// only reports whether at most this kind of thing is in the way.
func (n *near) only(taints, selectors, requests bool) bool {
	return (taints || len(n.taints) == 0) && (selectors || n.selected) && (requests || n.short == 0)
}

// near returns what is in the way on each node of the configuration.
func (q *question) near(pod *v1.Pod, free []state.Resources) []near {
	need := state.NewPod(pod).Requests
	var names []v1.ResourceName
	for i := range pod.Spec.Containers {
		for name := range pod.Spec.Containers[i].Resources.Requests {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	out := make([]near, len(q.config.Nodes))
	for i, node := range q.config.Nodes {
		n := &out[i]
		n.taints = untolerated(pod, node, q.config.Assembly.CompareTolerations())
		n.selected, _ = affinity.Match(node)
		if !n.selected {
			n.unmatched = unmatched(pod, node)
		}
		for _, name := range names {
			if need.Amount(name) > free[i].Amount(name) {
				n.short++
			}
		}
	}
	return out
}

// untolerated returns the taints that keep the pod off a node. compare is that of the gate TaintTolerationComparisonOperators.
func untolerated(pod *v1.Pod, node *v1.Node, compare bool) (out []v1.Taint) {
	taints := node.Spec.Taints
	if node.Spec.Unschedulable {
		taints = append(slices.Clone(taints), v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	for i := range taints {
		repels := func(t *v1.Taint) bool { return t.Effect != v1.TaintEffectPreferNoSchedule }
		_, found := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), taints[i:i+1], pod.Spec.Tolerations, repels, compare)
		t := v1.Taint{Key: taints[i].Key, Value: taints[i].Value, Effect: taints[i].Effect}
		if found && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// unmatched counts the requirements that a node does not meet, by key: those of the node selector, and of the only term of node affinity.
func unmatched(pod *v1.Pod, node *v1.Node) map[string]int {
	out := make(map[string]int)
	for key, value := range pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			out[key]++
		}
	}
	for _, e := range required(pod) {
		selector, err := nodeaffinity.NewNodeSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{e}}}})
		if err != nil || !selector.Match(node) {
			out[e.Key]++
		}
	}
	return out
}
