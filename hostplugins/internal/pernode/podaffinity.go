package pernode

import (
	"cmp"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/abi"
)

// PodAffinity is InterPodAffinity, both filter and score: for each node it evaluates every pod
// of every node.
type PodAffinity struct {
	// Namespaces has the labels of the known namespaces.
	Namespaces map[string]map[string]string
	// HardWeight is hardPodAffinityWeight.
	HardWeight int32
	// IgnorePreferred is ignorePreferredTermsOfExistingPods.
	IgnorePreferred bool

	cluster []*Node
	pod     *v1.Pod
	terms   podTerms
}

// PodAffinityScore is the score of a PodAffinity.
type PodAffinityScore struct{ PodAffinity }

// podTerms holds the terms of a pod.
type podTerms struct {
	required, requiredAnti   []v1.PodAffinityTerm
	preferred, preferredAnti []v1.WeightedPodAffinityTerm
}

// termsOf omits lists with a term that cannot be evaluated, and returns the errors.
func termsOf(pod *v1.Pod) (t podTerms, problems []string) {
	required := func(name string, in []v1.PodAffinityTerm) []v1.PodAffinityTerm {
		for i := range in {
			_, a := metav1.LabelSelectorAsSelector(in[i].LabelSelector)
			_, b := metav1.LabelSelectorAsSelector(in[i].NamespaceSelector)
			if err := cmp.Or(a, b); err != nil {
				problems = append(problems, name+": "+err.Error())
				return nil
			}
		}
		return in
	}
	preferred := func(name string, in []v1.WeightedPodAffinityTerm) []v1.WeightedPodAffinityTerm {
		for i := range in {
			if required(name, []v1.PodAffinityTerm{in[i].PodAffinityTerm}) == nil {
				return nil
			}
		}
		return in
	}
	affinity, anti := &v1.PodAffinity{}, &v1.PodAntiAffinity{}
	if a := pod.Spec.Affinity; a != nil {
		affinity, anti = cmp.Or(a.PodAffinity, affinity), cmp.Or(a.PodAntiAffinity, anti)
	}
	t.required = required("requiredAffinityTerms", affinity.RequiredDuringSchedulingIgnoredDuringExecution)
	t.requiredAnti = required("requiredAntiAffinityTerms", anti.RequiredDuringSchedulingIgnoredDuringExecution)
	t.preferred = preferred("preferredAffinityTerms", affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	t.preferredAnti = preferred("preferredAntiAffinityTerms", anti.PreferredDuringSchedulingIgnoredDuringExecution)
	return t, problems
}

// Name is the name in a profile.
func (*PodAffinity) Name() string { return "InterPodAffinity" }

// See stores the cluster.
func (a *PodAffinity) See(cluster, _ []*Node) { a.cluster = cluster }

// matches reports whether a term of owner matches a pod. For the incoming pod's terms,
// kube-scheduler v1.36 also evaluates the namespaceSelector against an empty label set.
func (a *PodAffinity) matches(t *v1.PodAffinityTerm, owner, pod *v1.Pod) bool {
	selector, _ := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if !selector.Matches(labels.Set(pod.Labels)) {
		return false
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return owner.Namespace == pod.Namespace
	}
	if slices.Contains(t.Namespaces, pod.Namespace) {
		return true
	}
	namespaces, _ := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
	known, ok := a.Namespaces[pod.Namespace]
	if owner == a.pod {
		return namespaces.Matches(labels.Set{}) || ok && namespaces.Matches(labels.Set(known))
	}
	return namespaces.Matches(labels.Set(known))
}

// matchesAll reports whether the pod has terms and all of them match another pod.
func (a *PodAffinity) matchesAll(pod *v1.Pod) bool {
	for i := range a.terms.required {
		if !a.matches(&a.terms.required[i], a.pod, pod) {
			return false
		}
	}
	return len(a.terms.required) > 0
}

// share reports whether two nodes are in the same domain.
func share(key string, a, b *v1.Node) bool {
	x, ok := a.Labels[key]
	y, too := b.Labels[key]
	return ok && too && x == y
}

// repels reports whether a pod of a node keeps the incoming one away from all nodes of some
// domain.
func (a *PodAffinity) repels(n *Node) bool {
	for _, pod := range n.Placed {
		terms, _ := termsOf(pod)
		for i := range terms.requiredAnti {
			if t := &terms.requiredAnti[i]; a.matches(t, pod, a.pod) && share(t.TopologyKey, n.Object, n.Object) {
				return true
			}
		}
	}
	return false
}

// Prepare processes the pod.
func (a *PodAffinity) Prepare(pod *v1.Pod) (map[string]bool, abi.Code, string) {
	var problems []string
	a.pod = pod
	a.terms, problems = termsOf(pod)
	switch len(problems) {
	case 0:
	case 1:
		return nil, abi.UnschedulableAndUnresolvable, "parsing pod: " + problems[0]
	default:
		return nil, abi.UnschedulableAndUnresolvable, "parsing pod: [" + strings.Join(problems, ", ") + "]"
	}
	if len(a.terms.required)+len(a.terms.requiredAnti) == 0 && !slices.ContainsFunc(a.cluster, a.repels) {
		return nil, abi.Skip, ""
	}
	return nil, abi.Success, ""
}

// Filter evaluates a node.
func (a *PodAffinity) Filter(n *Node) (abi.Code, []string) {
	if !a.near(n) {
		return abi.UnschedulableAndUnresolvable, []string{"node(s) didn't match pod affinity rules"}
	}
	for _, other := range a.cluster {
		for _, pod := range other.Placed {
			for i := range a.terms.requiredAnti {
				if t := &a.terms.requiredAnti[i]; share(t.TopologyKey, n.Object, other.Object) && a.matches(t, a.pod, pod) {
					return abi.Unschedulable, []string{"node(s) didn't match pod anti-affinity rules"}
				}
			}
		}
	}
	for _, other := range a.cluster {
		for _, pod := range other.Placed {
			terms, _ := termsOf(pod)
			for i := range terms.requiredAnti {
				if t := &terms.requiredAnti[i]; share(t.TopologyKey, n.Object, other.Object) && a.matches(t, pod, a.pod) {
					return abi.Unschedulable, []string{"node(s) didn't satisfy existing pods anti-affinity rules"}
				}
			}
		}
	}
	return abi.Success, nil
}

// near reports whether a node satisfies the pod's required affinity: for each term the node's
// domain has a pod that all terms match; or no such pod exists anywhere, and the pod would be
// the first of its kind.
func (a *PodAffinity) near(n *Node) bool {
	anywhere, everywhere := false, true
	for i := range a.terms.required {
		key := a.terms.required[i].TopologyKey
		if _, ok := n.Object.Labels[key]; !ok {
			return false
		}
		here := false
		for _, other := range a.cluster {
			if _, ok := other.Object.Labels[key]; ok && slices.ContainsFunc(other.Placed, a.matchesAll) {
				anywhere = true
				here = here || share(key, n.Object, other.Object)
			}
		}
		everywhere = everywhere && here
	}
	return everywhere || !anywhere && a.matchesAll(a.pod)
}

// Prepare processes the pod.
func (a *PodAffinityScore) Prepare(pod *v1.Pod) abi.Code {
	var problems []string
	a.pod = pod
	if a.terms, problems = termsOf(pod); len(problems) > 0 {
		return abi.Error
	}
	if a.IgnorePreferred && len(a.terms.preferred)+len(a.terms.preferredAnti) == 0 {
		return abi.Skip
	}
	for _, n := range a.cluster {
		if _, any := a.worth(n, n); any {
			return abi.Success
		}
	}
	return abi.Skip
}

// worth is what the pods of a node contribute to the score of another node, and whether any
// term of the pod matches one of them, or a term of one of them the pod.
func (a *PodAffinityScore) worth(of, to *Node) (sum int64, any bool) {
	add := func(t *v1.PodAffinityTerm, owner, pod *v1.Pod, weight int32) {
		if share(t.TopologyKey, of.Object, to.Object) && a.matches(t, owner, pod) {
			sum += int64(weight)
			any = true
		}
	}
	for _, pod := range of.Placed {
		theirs, _ := termsOf(pod)
		for _, t := range a.terms.preferred {
			add(&t.PodAffinityTerm, a.pod, pod, t.Weight)
		}
		for _, t := range a.terms.preferredAnti {
			add(&t.PodAffinityTerm, a.pod, pod, -t.Weight)
		}
		for _, t := range theirs.preferred {
			add(&t.PodAffinityTerm, pod, a.pod, t.Weight)
		}
		for _, t := range theirs.preferredAnti {
			add(&t.PodAffinityTerm, pod, a.pod, -t.Weight)
		}
		for i := range theirs.required {
			if a.HardWeight > 0 {
				add(&theirs.required[i], pod, a.pod, a.HardWeight)
			}
		}
	}
	return sum, any
}

// Score scores a node.
func (a *PodAffinityScore) Score(n *Node) (sum int64) {
	for _, other := range a.cluster {
		s, _ := a.worth(other, n)
		sum += s
	}
	return sum
}

// Normalize scales the scores to the range 0 to 100.
func (*PodAffinityScore) Normalize(scores []int64) {
	if len(scores) == 0 {
		return
	}
	least, most := slices.Min(scores), slices.Max(scores)
	for i, s := range scores {
		if scores[i] = 0; most > least {
			scores[i] = int64(math.Floor(100 * (float64(s-least) / float64(most-least))))
		}
	}
}
