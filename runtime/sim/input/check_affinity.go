package input

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

func (c *checker) affinity(a *v1.Affinity) {
	if n := a.NodeAffinity; n != nil {
		at := "spec.affinity.nodeAffinity"
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			c.nodeSelector(at+".requiredDuringSchedulingIgnoredDuringExecution", n.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			t := &n.PreferredDuringSchedulingIgnoredDuringExecution[i]
			at := fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d]", at, i)
			c.weight(at+".weight", t.Weight)
			c.nodeTerm(at+".preference", &t.Preference)
		}
	}
	if p := a.PodAffinity; p != nil {
		c.podTerms("spec.affinity.podAffinity", p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		c.podTerms("spec.affinity.podAntiAffinity", p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (c *checker) weight(path string, w int32) {
	if w < 1 || w > 100 {
		c.bad(path, fmt.Sprintf("%d is not from 1 to 100", w), "write 1 to 100")
	}
}

func (c *checker) podTerms(at string, required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
	for i := range required {
		c.podTerm(fmt.Sprintf("%s.requiredDuringSchedulingIgnoredDuringExecution[%d]", at, i), &required[i])
	}
	for i := range preferred {
		at := fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d]", at, i)
		c.weight(at+".weight", preferred[i].Weight)
		c.podTerm(at+".podAffinityTerm", &preferred[i].PodAffinityTerm)
	}
}

func (c *checker) podTerm(at string, t *v1.PodAffinityTerm) {
	if t.TopologyKey == "" {
		c.bad(at+".topologyKey", "it is missing", "write a node label, such as "+v1.LabelHostname)
	} else {
		c.key(at+".topologyKey", t.TopologyKey)
	}
	c.selector(at+".labelSelector", t.LabelSelector)
	c.selector(at+".namespaceSelector", t.NamespaceSelector)
}

// nodeSelector checks the terms of a required affinity of a pod or a volume.
func (c *checker) nodeSelector(at string, s *v1.NodeSelector) {
	if len(s.NodeSelectorTerms) == 0 {
		c.bad(at+".nodeSelectorTerms", "it is empty, so no node matches", "write a term, or remove the affinity")
	}
	for i := range s.NodeSelectorTerms {
		c.nodeTerm(fmt.Sprintf("%s.nodeSelectorTerms[%d]", at, i), &s.NodeSelectorTerms[i])
	}
}

// nodeTerm checks no values: the API server takes any in preferred terms, any number in Gt and Lt, and what an older
// one took in required terms. A term with a value that cannot be compared matches no node.
func (c *checker) nodeTerm(at string, t *v1.NodeSelectorTerm) {
	for i := range t.MatchExpressions {
		r := &t.MatchExpressions[i]
		at := fmt.Sprintf("%s.matchExpressions[%d]", at, i)
		c.key(at+".key", r.Key)
		if !c.oneOf(at+".operator", string(r.Operator), "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt") {
			continue
		}
		c.valueCount(at, string(r.Operator), r.Values)
		if (r.Operator == v1.NodeSelectorOpGt || r.Operator == v1.NodeSelectorOpLt) && len(r.Values) != 1 {
			c.bad(at+".values", fmt.Sprintf("%s takes one value, not %d", r.Operator, len(r.Values)), "write one whole number")
		}
	}
	for i := range t.MatchFields {
		r := &t.MatchFields[i]
		at := fmt.Sprintf("%s.matchFields[%d]", at, i)
		c.oneOf(at+".key", r.Key, "metadata.name")
		if c.oneOf(at+".operator", string(r.Operator), "In", "NotIn") && len(r.Values) != 1 {
			c.bad(at+".values", fmt.Sprintf("a field takes one value, not %d", len(r.Values)), "write the name of one node")
		}
	}
}
