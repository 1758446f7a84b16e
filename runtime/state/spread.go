package state

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// SpreadConstraint is a compiled entry of spec.topologySpreadConstraints.
type SpreadConstraint struct {
	TopologyKey string
	// When is what to do with a node that violates the constraint: DoNotSchedule or
	// ScheduleAnyway.
	When v1.UnsatisfiableConstraintAction
	// MaxSkew is the maximum difference in pods between two domains.
	MaxSkew int32
	// MinDomains is the number of domains below which the smallest of them counts as empty;
	// default 1 (KEP-3022).
	MinDomains int32
	// HonorAffinity and HonorTaints count only nodes that the pod's node selector and affinity
	// allow, and whose taints it tolerates (KEP-3094).
	HonorAffinity, HonorTaints bool
	// Selector is labelSelector with the pod's values of matchLabelKeys (KEP-3243).
	Selector PodSelector
	// Err says why the selector cannot be evaluated; it then matches nothing.
	Err error
}

// CompileSpread compiles the constraints of a pod with these labels.
func CompileSpread(in []v1.TopologySpreadConstraint, podLabels map[string]string) []SpreadConstraint {
	if len(in) == 0 {
		return nil
	}
	out := make([]SpreadConstraint, len(in))
	for i := range in {
		c := &in[i]
		o := &out[i]
		*o = SpreadConstraint{
			TopologyKey: c.TopologyKey, When: c.WhenUnsatisfiable, MaxSkew: c.MaxSkew, MinDomains: 1,
			HonorAffinity: c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor,
			HonorTaints:   c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor,
		}
		if c.MinDomains != nil {
			o.MinDomains = *c.MinDomains
		}
		if o.Selector, o.Err = CompilePodSelector(c.LabelSelector); o.Err == nil {
			o.Selector = withMatchLabelKeys(o.Selector, c.MatchLabelKeys, podLabels)
		}
	}
	return out
}

// withMatchLabelKeys narrows a selector to pods that have the pod's own values of some keys.
// Keys that the pod does not have are ignored.
func withMatchLabelKeys(s PodSelector, keys []string, podLabels map[string]string) PodSelector {
	own := labels.Set{}
	for _, key := range keys {
		if value, ok := podLabels[key]; ok {
			own[key] = value
		}
	}
	requirements, selectable := s.Requirements()
	if len(own) == 0 || !selectable {
		return s
	}
	return NewPodSelector(labels.SelectorFromSet(own).Add(requirements...))
}
