package generate

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (g *Generator) nodeAffinity(p *v1.Pod, nodes []string) {
	if g.chance(0.35) {
		p.Spec.NodeSelector = map[string]string{pick(g, "disk", v1.LabelTopologyZone, "nokey"): pick(g, "ssd", "z0", "z1", "")}
	}
	a := g.nodeTerms(nodes)
	if a != nil {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: a}
	}
}

// nodeTerms draws node affinity, or nil.
func (g *Generator) nodeTerms(nodes []string) *v1.NodeAffinity {
	a := &v1.NodeAffinity{}
	if g.chance(0.6) {
		s := &v1.NodeSelector{}
		for range 1 + g.upTo(2) {
			s.NodeSelectorTerms = append(s.NodeSelectorTerms, g.nodeTerm(nodes))
		}
		if g.chance(0.02) {
			s.NodeSelectorTerms = nil
		}
		a.RequiredDuringSchedulingIgnoredDuringExecution = s
	}
	for range g.upTo(3) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: int32(1 + g.upTo(99)), Preference: g.nodeTerm(nodes)})
	}
	if a.RequiredDuringSchedulingIgnoredDuringExecution == nil && len(a.PreferredDuringSchedulingIgnoredDuringExecution) == 0 && g.chance(0.8) {
		return nil
	}
	return a
}

func (g *Generator) nodeTerm(nodes []string) v1.NodeSelectorTerm {
	var t v1.NodeSelectorTerm
	for range g.upTo(2) {
		t.MatchExpressions = append(t.MatchExpressions, g.nodeRequirement())
	}
	if g.chance(0.25) {
		for range 1 + g.upTo(1)*g.upTo(1) {
			t.MatchFields = append(t.MatchFields, v1.NodeSelectorRequirement{
				Key: metav1.ObjectNameField, Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn),
				Values: []string{pick(g, append([]string{"nobody"}, nodes...)...)},
			})
		}
	}
	return t
}

func (g *Generator) nodeRequirement() v1.NodeSelectorRequirement {
	r := v1.NodeSelectorRequirement{
		Key: pick(g, "disk", "cores", "rare", "nokey", v1.LabelTopologyZone, v1.LabelHostname),
		Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist,
			v1.NodeSelectorOpGt, v1.NodeSelectorOpLt),
	}
	switch r.Operator {
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		r.Key = pick(g, "cores", "cores", "disk")
		r.Values = []string{pick(g, "5", "8", "0", "12", "-4")}
		if g.chance(0.03) {
			r.Values[0] = "many" // not valid, and not known to be so by every version of the API server
		}
	default:
		r.Values = append([]string{pick(g, "ssd", "hdd", "z0", "z1", "n1", "8", "")}, some(g, 6, "z2", "z3", "n2", "n3", "hdd", "16", "x1", "x2")...)
	}
	return r
}

func (g *Generator) topologyKey() string {
	return pick(g, v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyZone, v1.LabelTopologyRegion, "disk")
}

func (g *Generator) spread(p *v1.Pod) {
	seen := map[string]bool{}
	for range g.upTo(3) {
		c := v1.TopologySpreadConstraint{
			MaxSkew: int32(1 + g.upTo(2)), TopologyKey: g.topologyKey(),
			WhenUnsatisfiable: pick(g, v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: g.selector(),
		}
		// all pods seldom: a listed difference
		if s := c.LabelSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 && g.chance(0.9) {
			s.MatchLabels = map[string]string{"app": pick(g, "a", "b", "c")}
		}
		key := c.TopologyKey + string(c.WhenUnsatisfiable)
		if seen[key] {
			continue // such a pair must be unique
		}
		seen[key] = true
		if c.WhenUnsatisfiable == v1.DoNotSchedule && g.chance(0.3) {
			n := int32(1 + g.upTo(4))
			c.MinDomains = &n
		}
		if g.chance(0.4) {
			policy := pick(g, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore)
			c.NodeAffinityPolicy = &policy
		}
		if g.chance(0.4) {
			policy := pick(g, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore)
			c.NodeTaintsPolicy = &policy
		}
		if c.LabelSelector != nil && g.chance(0.3) {
			c.MatchLabelKeys = some(g, 2, "pod-template-hash", "tier")
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	}
}

func (g *Generator) podAffinity(p *v1.Pod) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &v1.Affinity{}
	}
	required := func() (out []v1.PodAffinityTerm) {
		for range g.upTo(2) {
			out = append(out, g.podTerm())
		}
		return out
	}
	preferred := func() (out []v1.WeightedPodAffinityTerm) {
		for range g.upTo(2) {
			out = append(out, v1.WeightedPodAffinityTerm{Weight: int32(1 + g.upTo(99)), PodAffinityTerm: g.podTerm()})
		}
		return out
	}
	if g.chance(0.6) {
		a := &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred()}
		if g.chance(0.5) {
			a.RequiredDuringSchedulingIgnoredDuringExecution = required()
		}
		p.Spec.Affinity.PodAffinity = a
	}
	if g.chance(0.6) {
		a := &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred()}
		if g.chance(0.4) {
			a.RequiredDuringSchedulingIgnoredDuringExecution = required()
		}
		p.Spec.Affinity.PodAntiAffinity = a
	}
}

func (g *Generator) podTerm() v1.PodAffinityTerm {
	t := v1.PodAffinityTerm{TopologyKey: g.topologyKey(), LabelSelector: g.selector()}
	if g.chance(0.3) {
		t.Namespaces = append([]string{namespace(0)}, some(g, 2, namespace(1), "nowhere")...)
	}
	switch {
	case g.chance(0.2):
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick(g, "a", "b")}}
	case g.chance(0.1):
		t.NamespaceSelector = &metav1.LabelSelector{}
	case g.chance(0.12): // also matches no labels, as those of a namespace that is not known
		t.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{pick(g, "a", "b")},
		}}}
	}
	if t.LabelSelector != nil && g.chance(0.2) {
		// The API server merges these keys into the selector; the scheduler ignores them.
		t.MatchLabelKeys = []string{"pod-template-hash"}
	}
	return t
}
