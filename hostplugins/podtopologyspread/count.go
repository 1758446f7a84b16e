package podtopologyspread

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
	"github.com/berth-scheduler/berth/runtime/state"
)

// keysOf returns the topology keys of constraints, each once, sorted.
func keysOf(constraints []state.SpreadConstraint) []string {
	keys := make([]string, 0, 4)
	for i := range constraints {
		keys = append(keys, constraints[i].TopologyKey)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// count returns the number of pods that a constraint selects in each domain, over the eligible
// nodes. keys are the labels that those must have; with absent, nodes without the topology's
// label count as well, as a domain of their own.
func (p *PodTopologySpread) count(pod *state.Pod, c *state.SpreadConstraint, keys []string, absent bool) *tally.Count {
	n := nodes{
		keys: keys, pod: pod, taints: c.HonorTaints, compare: p.deps.CompareTolerations,
		affinity: c.HonorAffinity && (pod.HasRequired || len(pod.Selector) > 0),
	}
	key := appendText(appendText(p.key[:0], pod.Namespace), c.Selector.Text)
	scope := len(key)
	key = appendText(key, c.TopologyKey)
	if absent {
		key = append(key, 1)
	} else {
		key = append(key, 0)
	}
	key = n.appendKey(key)
	p.key = key
	if found := p.index.Find(key); found != nil {
		return found
	}
	topology := p.index.Topology(c.TopologyKey)
	var eligible tally.Eligible
	if len(keys) > 0 || n.affinity || n.taints {
		heap := n
		eligible = &heap
	}
	return p.index.Count(key, p.index.Scope(string(key[scope:]), topology, eligible, absent), about(pod, c))
}

// onNodes returns the number of pods that a constraint selects on each node, eligible or not.
func (p *PodTopologySpread) onNodes(pod *state.Pod, c *state.SpreadConstraint) *tally.Count {
	key := append(appendText(appendText(p.key[:0], pod.Namespace), c.Selector.Text), "nodes"...)
	p.key = key
	if found := p.index.Find(key); found != nil {
		return found
	}
	return p.index.Count(key, p.index.Nodes(), about(pod, c))
}

// about describes the pods that a constraint counts. Without a selector it counts none, and pods
// that are being deleted do not count (kubernetes issue 87621).
func about(pod *state.Pod, c *state.SpreadConstraint) tally.About {
	selector := c.Selector
	return tally.About{Namespaces: []string{pod.Namespace}, Selector: selector, Match: func(g *tally.Group) bool {
		return !g.Terminating && selector.Matches(g.Labels)
	}}
}

// byHostname reports whether a constraint is over single nodes by the hostname label, for which
// scores count the pods on the node itself.
func byHostname(c *state.SpreadConstraint) bool { return c.TopologyKey == v1.LabelHostname }
