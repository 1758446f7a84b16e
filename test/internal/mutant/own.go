package mutant

import (
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func eachPort(change func(c *v1.ContainerPort)) func(*v1.Pod) {
	return func(p *v1.Pod) {
		for i := range p.Spec.Containers {
			for j := range p.Spec.Containers[i].Ports {
				change(&p.Spec.Containers[i].Ports[j])
			}
		}
	}
}

func eachToleration(change func(t *v1.Toleration)) func(*v1.Pod) {
	return func(p *v1.Pod) {
		for i := range p.Spec.Tolerations {
			change(&p.Spec.Tolerations[i])
		}
	}
}

func taintMutants(name string) []Mutant {
	out := []Mutant{
		{Name: "the value does not matter", pod: eachToleration(func(t *v1.Toleration) { t.Operator, t.Value = v1.TolerationOpExists, "" })},
		{Name: "no effect tolerates none", pod: eachToleration(func(t *v1.Toleration) {
			if t.Effect == "" {
				t.Effect = v1.TaintEffectNoExecute
			}
		})},
	}
	if name == "TaintToleration" {
		out = append(out,
			Mutant{Name: "NoExecute ignored", pod: func(p *v1.Pod) {
				p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute})
			}},
			Mutant{Name: "PreferNoSchedule is never tolerated", pod: func(p *v1.Pod) {
				p.Spec.Tolerations = slices.DeleteFunc(p.Spec.Tolerations, func(t v1.Toleration) bool { return t.Effect == v1.TaintEffectPreferNoSchedule })
			}})
	}
	return out
}

// eachTerm changes the terms of node affinity, required and preferred.
func eachTerm(change func(t *v1.NodeSelectorTerm)) func(*v1.Pod) {
	return func(p *v1.Pod) {
		if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
			return
		}
		a := p.Spec.Affinity.NodeAffinity
		if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for i := range r.NodeSelectorTerms {
				change(&r.NodeSelectorTerms[i])
			}
		}
		for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			change(&a.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference)
		}
	}
}

func affinityMutants() []Mutant {
	operator := func(name string, from, to v1.NodeSelectorOperator) Mutant {
		return Mutant{Name: name, pod: eachTerm(func(t *v1.NodeSelectorTerm) {
			for i := range t.MatchExpressions {
				if r := &t.MatchExpressions[i]; r.Operator == from {
					r.Operator = to
				}
			}
		})}
	}
	return []Mutant{
		operator("NotIn is In", v1.NodeSelectorOpNotIn, v1.NodeSelectorOpIn),
		operator("Exists is DoesNotExist", v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist),
		operator("Lt is Gt", v1.NodeSelectorOpLt, v1.NodeSelectorOpGt),
		{Name: "Gt is at least", pod: eachTerm(func(t *v1.NodeSelectorTerm) {
			for i := range t.MatchExpressions {
				if r := &t.MatchExpressions[i]; r.Operator == v1.NodeSelectorOpGt {
					if n, err := strconv.Atoi(r.Values[0]); err == nil && n > 0 {
						r.Values = []string{strconv.Itoa(n - 1)}
					}
				}
			}
		})},
		{Name: "fields ignored", pod: eachTerm(func(t *v1.NodeSelectorTerm) { t.MatchFields = nil })},
		{Name: "node selector ignored", pod: func(p *v1.Pod) { p.Spec.NodeSelector = nil }},
		{Name: "the first term only", pod: func(p *v1.Pod) {
			if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
				r := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
				r.NodeSelectorTerms = r.NodeSelectorTerms[:min(1, len(r.NodeSelectorTerms))]
			}
		}},
		{Name: "a node less in the set", rows: func(rows []uint32) []uint32 {
			if len(rows) > 1 {
				return rows[1:]
			}
			return rows
		}},
		{Name: "does not skip", noSkip: true},
	}
}

func resourceMutants(name string) []Mutant {
	out := []Mutant{{Name: "overhead ignored", pod: func(p *v1.Pod) { p.Spec.Overhead = nil }}}
	if name != "NodeResourcesFit" {
		return append(out, Mutant{Name: "pod-level resources ignored", pod: func(p *v1.Pod) { p.Spec.Resources = nil }})
	}
	return append(out,
		Mutant{Name: "a thousandth of a CPU too much", pod: func(p *v1.Pod) {
			add := func(list v1.ResourceList) {
				if cpu, ok := list[v1.ResourceCPU]; ok {
					cpu.Add(*resource.NewMilliQuantity(1, resource.DecimalSI))
					list[v1.ResourceCPU] = cpu
				}
			}
			add(p.Spec.Containers[0].Resources.Requests)
			if p.Spec.Resources != nil {
				add(p.Spec.Resources.Requests)
			}
		}},
		Mutant{Name: "sidecars stop like other init containers", pod: func(p *v1.Pod) {
			for i := range p.Spec.InitContainers {
				p.Spec.InitContainers[i].RestartPolicy = nil
			}
		}},
		Mutant{Name: "pod-level resources ignored", pod: func(p *v1.Pod) { p.Spec.Resources = nil }},
		Mutant{Name: "a scalar resource ignored", pod: func(p *v1.Pod) {
			for i := range p.Spec.Containers {
				delete(p.Spec.Containers[i].Resources.Requests, "example.com/nic")
			}
		}},
	)
}

func eachConstraint(change func(c *v1.TopologySpreadConstraint)) func(*v1.Pod) {
	return func(p *v1.Pod) {
		for i := range p.Spec.TopologySpreadConstraints {
			change(&p.Spec.TopologySpreadConstraints[i])
		}
	}
}

func spreadMutants() []Mutant {
	return []Mutant{
		{Name: "skew off by one", pod: eachConstraint(func(c *v1.TopologySpreadConstraint) { c.MaxSkew++ })},
		{Name: "minDomains ignored", pod: eachConstraint(func(c *v1.TopologySpreadConstraint) { c.MinDomains = nil })},
		{Name: "nodeAffinityPolicy ignored", pod: eachConstraint(func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy = nil })},
		{Name: "nodeTaintsPolicy ignored", pod: eachConstraint(func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = nil })},
		{Name: "matchLabelKeys ignored", pod: eachConstraint(func(c *v1.TopologySpreadConstraint) { c.MatchLabelKeys = nil })},
		{Name: "the last constraint ignored", pod: func(p *v1.Pod) {
			if n := len(p.Spec.TopologySpreadConstraints); n > 1 {
				p.Spec.TopologySpreadConstraints = p.Spec.TopologySpreadConstraints[:n-1]
			}
		}},
	}
}

// eachPodTerm changes the terms of pod affinity and anti-affinity.
func eachPodTerm(change func(t *v1.PodAffinityTerm)) func(*v1.Pod) {
	return func(p *v1.Pod) {
		a := p.Spec.Affinity
		if a == nil {
			return
		}
		all := func(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
			for i := range required {
				change(&required[i])
			}
			for i := range preferred {
				change(&preferred[i].PodAffinityTerm)
			}
		}
		if a.PodAffinity != nil {
			all(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			all(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
}

func podAffinityMutants() []Mutant {
	return []Mutant{
		{Name: "namespaceSelector ignored", pod: eachPodTerm(func(t *v1.PodAffinityTerm) { t.NamespaceSelector = nil })},
		{Name: "namespaces ignored", pod: eachPodTerm(func(t *v1.PodAffinityTerm) { t.Namespaces = nil })},
		{Name: "expressions of selectors ignored", pod: eachPodTerm(func(t *v1.PodAffinityTerm) {
			if t.LabelSelector != nil {
				t.LabelSelector.MatchExpressions = nil
			}
		})},
		{Name: "anti-affinity ignored", pod: func(p *v1.Pod) {
			if p.Spec.Affinity != nil {
				p.Spec.Affinity.PodAntiAffinity = nil
			}
		}},
		{Name: "weights off by one", pod: func(p *v1.Pod) {
			if a := p.Spec.Affinity; a != nil && a.PodAffinity != nil {
				for i := range a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
					a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i].Weight++
				}
			}
		}},
		{Name: "a zone is a region", pod: eachPodTerm(func(t *v1.PodAffinityTerm) {
			if t.TopologyKey == v1.LabelTopologyZone {
				t.TopologyKey = v1.LabelTopologyRegion
			}
		})},
	}
}
