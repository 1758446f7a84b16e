package nodeaffinity

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/nodeselector"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

const preFilterKey = "PreFilter"

// required is what Filter checks, with strings resolved.
type required struct {
	pod      nodeselector.Selector
	added    nodeselector.Selector
	hasAdded bool
}

// Clone returns the value itself: it does not change after PreFilter.
func (r *required) Clone() state.Value { return r }

func (n *NodeAffinity) resolve(c *plugin.Cycle) *required {
	r := &required{pod: nodeselector.Pod(c.Pod, c.Snapshot.Strings)}
	if r.hasAdded = n.addedSelector != nil; r.hasAdded {
		r.added = nodeselector.Terms(n.added, c.Snapshot.Strings)
	}
	return r
}

// PreFilter skips pods without requirements, and narrows the rows when every term selects nodes
// by metadata.name.
func (n *NodeAffinity) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	if !c.Pod.HasRequired && n.addedSelector == nil && len(c.Pod.Selector) == 0 {
		return nil, plugin.NewStatus(abi.Skip)
	}
	c.State.Write(Name, preFilterKey, n.resolve(c))
	if !c.Pod.HasRequired {
		return nil, nil
	}
	terms := c.Pod.Object.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	names, all := nodeNames(terms)
	if all {
		return nil, nil
	}
	if len(names) == 0 {
		return nil, plugin.NewStatus(abi.UnschedulableAndUnresolvable, ReasonConflict)
	}
	rows := make([]uint32, 0, len(names))
	for _, name := range names {
		if row, ok := c.Snapshot.Row(name); ok {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows), nil
}

// nodeNames returns the names that the ORed terms allow, or true if a term allows nodes of any
// name. Requirements of a term are ANDed.
func nodeNames(terms []v1.NodeSelectorTerm) (names []string, all bool) {
	for i := range terms {
		var ofTerm []string
		narrowed := false
		for _, r := range terms[i].MatchFields {
			if r.Key != metav1.ObjectNameField || r.Operator != v1.NodeSelectorOpIn {
				continue
			}
			if !narrowed {
				ofTerm, narrowed = slices.Clone(r.Values), true
				continue
			}
			ofTerm = slices.DeleteFunc(ofTerm, func(name string) bool { return !slices.Contains(r.Values, name) })
		}
		if !narrowed {
			return nil, true
		}
		names = append(names, ofTerm...)
	}
	return names, len(terms) == 0
}

// Filter rejects nodes that addedAffinity or the pod's own requirements exclude, checked in
// this order. Without the PreFilter state it resolves the pod's requirements again.
func (n *NodeAffinity) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	r, ok := c.State.Read(Name, preFilterKey).(*required)
	if !ok {
		r = n.resolve(c)
	}
	if r.hasAdded {
		reject(&r.added, c.Snapshot, rows, out, n.enforced)
	}
	if !r.pod.Everything() {
		reject(&r.pod, c.Snapshot, rows, out, n.pod)
	}
}

// reject rejects those of the remaining rows that do not match.
func reject(s *nodeselector.Selector, snapshot *state.Snapshot, rows []uint32, out *plugin.Verdicts, texts []string) {
	var mask nodeselector.Mask
	var reason uint16
	for start := 0; start < len(rows); start += nodeselector.Block {
		block := rows[start:min(start+nodeselector.Block, len(rows))]
		if s.Match(snapshot, block, &mask) {
			continue
		}
		if reason == 0 {
			reason = out.Reason(texts...)
		}
		for i, matched := range mask[:len(block)] {
			if matched == 0 && out.Codes[start+i] == abi.Success {
				out.Reject(start+i, abi.UnschedulableAndUnresolvable, reason)
			}
		}
	}
}
