package pernode

import (
	"math"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/abi"
)

// Clusterwide is a filter or score whose answer for a node depends on other nodes. See is
// called before Prepare; feasible is given to scores.
type Clusterwide interface {
	See(cluster, feasible []*Node)
}

// Spread is PodTopologySpread, both filter and score: for each node it evaluates every pod of
// every node.
type Spread struct {
	// Defaults are the args' default constraints.
	Defaults []v1.TopologySpreadConstraint
	// System reports whether Defaults are kube-scheduler's.
	System bool
	// Selector is what the default constraints of a pod select; nil for nothing.
	Selector func(pod *v1.Pod) labels.Selector

	cluster, feasible []*Node
	pod               *v1.Pod
	constraints       []spreadConstraint
	scoring           bool
}

type spreadConstraint struct {
	v1.TopologySpreadConstraint
	selector labels.Selector
}

// SpreadScore is the score of a Spread.
type SpreadScore struct{ Spread }

// Name is the name in a profile.
func (*Spread) Name() string { return "PodTopologySpread" }

// See stores the cluster.
func (s *Spread) See(cluster, feasible []*Node) { s.cluster, s.feasible = cluster, feasible }

// prepare collects the constraints of one kind, or returns why one cannot be evaluated.
func (s *Spread) prepare(pod *v1.Pod, when v1.UnsatisfiableConstraintAction) error {
	s.pod, s.constraints = pod, nil
	s.scoring = when == v1.ScheduleAnyway
	from := pod.Spec.TopologySpreadConstraints
	var defaults labels.Selector
	if len(from) == 0 && s.Selector != nil {
		if defaults = s.Selector(pod); !defaults.Empty() {
			from = s.Defaults
		}
	}
	for _, c := range from {
		if c.WhenUnsatisfiable != when {
			continue
		}
		selector := defaults
		if len(pod.Spec.TopologySpreadConstraints) > 0 {
			var err error
			if selector, err = metav1.LabelSelectorAsSelector(c.LabelSelector); err != nil {
				return err
			}
			for _, key := range c.MatchLabelKeys {
				if value, ok := pod.Labels[key]; ok && c.LabelSelector != nil {
					only, _ := labels.SelectorFromSet(labels.Set{key: value}).Requirements()
					selector = selector.Add(only...)
				}
			}
		}
		s.constraints = append(s.constraints, spreadConstraint{c, selector})
	}
	return nil
}

// Prepare processes the pod.
func (s *Spread) Prepare(pod *v1.Pod) (map[string]bool, abi.Code, string) {
	if err := s.prepare(pod, v1.DoNotSchedule); err != nil {
		return nil, abi.Error, "get constraints from pod: obtaining pod's hard topology spread constraints: " + err.Error()
	}
	if len(s.constraints) == 0 {
		return nil, abi.Skip, ""
	}
	return nil, abi.Success, ""
}

// Filter evaluates a node.
func (s *Spread) Filter(n *Node) (abi.Code, []string) {
	const reason = "node(s) didn't match pod topology spread constraints"
	for i := range s.constraints {
		c := &s.constraints[i]
		value, ok := n.Object.Labels[c.TopologyKey]
		if !ok {
			return abi.UnschedulableAndUnresolvable, []string{reason + " (missing required label)"}
		}
		pods := map[string]int{}
		for _, other := range s.cluster {
			if s.counts(c, other.Object) {
				pods[other.Object.Labels[c.TopologyKey]] += s.selected(c, other)
			}
		}
		least := math.MaxInt32
		for _, n := range pods {
			least = min(least, n)
		}
		if minDomains := c.MinDomains; minDomains == nil && len(pods) < 1 || minDomains != nil && len(pods) < int(*minDomains) {
			least = 0
		}
		self := 0
		if c.selector.Matches(labels.Set(s.pod.Labels)) {
			self = 1
		}
		if pods[value]+self-least > int(c.MaxSkew) {
			return abi.Unschedulable, []string{reason}
		}
	}
	return abi.Success, nil
}

// counts reports whether a node counts for a constraint.
func (s *Spread) counts(c *spreadConstraint, n *v1.Node) bool {
	if !s.hasLabels(n) {
		return false
	}
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor {
		if match, _ := nodeaffinity.GetRequiredNodeAffinity(s.pod).Match(n); !match {
			return false
		}
	}
	if c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor {
		keepsAway := func(t *v1.Taint) bool {
			return t.Effect == v1.TaintEffectNoSchedule || t.Effect == v1.TaintEffectNoExecute
		}
		_, repels := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, s.pod.Spec.Tolerations, keepsAway, false)
		return !repels
	}
	return true
}

// hasLabels reports whether a node has the labels of all constraints. With kube-scheduler's own
// default constraints, nodes without them are scored too.
func (s *Spread) hasLabels(n *v1.Node) bool {
	if s.scoring && s.System && len(s.pod.Spec.TopologySpreadConstraints) == 0 {
		return true
	}
	for i := range s.constraints {
		if _, ok := n.Labels[s.constraints[i].TopologyKey]; !ok {
			return false
		}
	}
	return true
}

// selected counts the pods of a node that a constraint selects.
func (s *Spread) selected(c *spreadConstraint, n *Node) (pods int) {
	for _, pod := range n.Placed {
		if pod.Namespace == s.pod.Namespace && pod.DeletionTimestamp == nil && c.selector.Matches(labels.Set(pod.Labels)) {
			pods++
		}
	}
	return pods
}

// Prepare processes the pod.
func (s *SpreadScore) Prepare(pod *v1.Pod) abi.Code {
	switch {
	case s.prepare(pod, v1.ScheduleAnyway) != nil:
		return abi.Error
	case len(s.constraints) == 0 || len(s.cluster) == 0:
		return abi.Skip
	}
	return abi.Success
}

// Score scores a node.
func (s *SpreadScore) Score(n *Node) int64 {
	if !s.hasLabels(n.Object) {
		return 0
	}
	var score float64
	for i := range s.constraints {
		c := &s.constraints[i]
		value, ok := n.Object.Labels[c.TopologyKey]
		if !ok {
			continue
		}
		values, rated, pods := map[string]bool{}, 0, 0
		for _, other := range s.feasible {
			if s.hasLabels(other.Object) {
				values[other.Object.Labels[c.TopologyKey]] = true
				rated++
			}
		}
		size := len(values)
		if c.TopologyKey == v1.LabelHostname {
			size = rated
			pods = s.selected(c, n)
		} else {
			for _, other := range s.cluster {
				if s.counts(c, other.Object) && other.Object.Labels[c.TopologyKey] == value {
					pods += s.selected(c, other)
				}
			}
		}
		score += float64(float64(pods)*math.Log(float64(size+2))) + float64(c.MaxSkew-1)
	}
	return int64(math.Round(score))
}

// Normalize scales the scores to the range 0 to 100.
func (s *SpreadScore) Normalize(scores []int64) {
	var least, most int64 = math.MaxInt64, 0
	for i, n := range s.feasible {
		if s.hasLabels(n.Object) {
			least, most = min(least, scores[i]), max(most, scores[i])
		}
	}
	for i, n := range s.feasible {
		switch {
		case !s.hasLabels(n.Object):
			scores[i] = 0
		case most == 0:
			scores[i] = 100
		default:
			scores[i] = 100 * (most + least - scores[i]) / most
		}
	}
}
