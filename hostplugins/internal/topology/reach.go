// Package topology determines from which nodes storage can be reached. Volumes, classes and
// capacities restrict this by node labels, which are compiled once per object and resolved once
// per snapshot. An Index finds the objects that reach a node without trying all of them.
package topology

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/hostplugins/internal/nodeselector"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Reach is the set of nodes from which an object can be reached. The zero value is all nodes.
type Reach struct {
	limited bool
	terms   []state.Term // ORed
}

// OfVolume returns the reach of a volume, spec.nodeAffinity. Only labels count: a term on the
// node's name matches everywhere, as in kube-scheduler, which checks volumes against nodes
// without names.
func OfVolume(pv *v1.PersistentVolume) Reach {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return Reach{}
	}
	terms := state.CompileTerms(pv.Spec.NodeAffinity.Required.NodeSelectorTerms)
	for i := range terms {
		if terms[i].Fields = nil; terms[i].Empty() && terms[i].Err == nil {
			return Reach{}
		}
	}
	return Reach{limited: true, terms: terms}
}

// OfClass returns where a class can provision volumes, allowedTopologies. No
// terms mean everywhere.
func OfClass(class *storagev1.StorageClass) Reach {
	if len(class.AllowedTopologies) == 0 {
		return Reach{}
	}
	terms := make([]v1.NodeSelectorTerm, len(class.AllowedTopologies))
	for i, t := range class.AllowedTopologies {
		for _, r := range t.MatchLabelExpressions {
			terms[i].MatchExpressions = append(terms[i].MatchExpressions,
				v1.NodeSelectorRequirement{Key: r.Key, Operator: v1.NodeSelectorOpIn, Values: r.Values})
		}
	}
	return Reach{limited: true, terms: state.CompileTerms(terms)}
}

// OfCapacity returns the nodes that a capacity applies to, nodeTopology: none without a
// selector, all with an empty one (storage/v1 CSIStorageCapacity).
func OfCapacity(c *storagev1.CSIStorageCapacity) Reach {
	if c.NodeTopology == nil {
		return Reach{limited: true}
	}
	if len(c.NodeTopology.MatchLabels)+len(c.NodeTopology.MatchExpressions) == 0 {
		return Reach{}
	}
	var term v1.NodeSelectorTerm
	for _, key := range state.SortedKeys(c.NodeTopology.MatchLabels) {
		term.MatchExpressions = append(term.MatchExpressions,
			v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{c.NodeTopology.MatchLabels[key]}})
	}
	for _, r := range c.NodeTopology.MatchExpressions {
		// The operators of label selectors are spelled like those of node selectors, which also
		// have Gt and Lt.
		op := v1.NodeSelectorOperator(r.Operator)
		if op == v1.NodeSelectorOpGt || op == v1.NodeSelectorOpLt {
			return Reach{limited: true}
		}
		term.MatchExpressions = append(term.MatchExpressions, v1.NodeSelectorRequirement{Key: r.Key, Operator: op, Values: r.Values})
	}
	return Reach{limited: true, terms: state.CompileTerms([]v1.NodeSelectorTerm{term})}
}

// Everywhere reports whether every node is reached.
func (r *Reach) Everywhere() bool { return !r.limited }

// Resolve returns a selector of the rows that are reached.
func (r *Reach) Resolve(strings *wire.Dict) nodeselector.Selector {
	if !r.limited {
		return nodeselector.Selector{}
	}
	return nodeselector.Terms(r.terms, strings)
}

// mostValues is the largest number of values of a label that an object is filed under.
const mostValues = 32

// anchor returns a label, and the values of it that a node must have one of to be reached;
// exact reports that this is the whole condition. Without such a label key is empty.
func (r *Reach) anchor() (key string, values []string, exact bool) {
	if len(r.terms) != 1 || r.terms[0].Err != nil {
		return "", nil, false
	}
	labels := r.terms[0].Labels
	for i := range labels {
		l := &labels[i]
		if l.Op == v1.NodeSelectorOpIn && len(l.Values) <= mostValues && (key == "" || len(l.Values) < len(values)) {
			key, values = l.Key, l.Values
		}
	}
	return key, values, key != "" && len(labels) == 1
}
