package plugin

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Diagnosis says why no node fits, for PostFilter.
type Diagnosis struct {
	// Codes has the verdict of each row of the snapshot. A row that PreFilter excluded is
	// UnschedulableAndUnresolvable.
	Codes []abi.Code
	// WhatIf judges hypothetical nodes.
	WhatIf WhatIf
	// Attached reports whether the verdict on a row is that of a plugin that is attached to namespaces; nil if no such
	// plugin applies to the pod. Own are the namespaces that all of these are attached to, sorted.
	Attached func(row uint32) bool
	Own      []string
	// Debt (optional) says why only pods of Own may be evicted, whichever plugin rejected the row. Indebted is set when a pod
	// stayed because of it.
	Debt     string
	Indebted bool
	// Extenders (optional) may change the candidates of a preemption.
	Extenders PreemptionExtender
}

// OnWord reports whether a row was rejected on the word of an attached plugin.
func (d *Diagnosis) OnWord(row uint32) bool { return d.Attached != nil && d.Attached(row) }

// ReasonWord is why a pod stays that an attached plugin's rejection would remove.
const ReasonWord = "node(s) where an attached plugin's rejection removes no pods of other namespaces"

// Stays returns why a pod may not have to leave a row for the cycle's pod; empty if it may. On the word of an attached plugin,
// and while there is a debt, only pods of the plugin's own namespaces may.
func (d *Diagnosis) Stays(row uint32, pod *state.Pod) string {
	onWord := d.OnWord(row)
	if d.Debt == "" && !onWord {
		return ""
	}
	if _, own := slices.BinarySearch(d.Own, pod.Namespace); own {
		return ""
	}
	if onWord {
		return ReasonWord
	}
	d.Indebted = true
	return d.Debt
}

// Debt is what keeps others from making room for a pod.
type Debt struct {
	// Reason says so; empty if nothing does. Own are the namespaces of which pods may leave nevertheless, sorted.
	Reason string
	Own    []string
}

// WhatIf makes hypothetical nodes, on which the cycle's pod is judged.
type WhatIf interface {
	// Node returns a copy of a row of the snapshot. Several copies may exist at a time, but only
	// one goroutine may use them.
	Node(row uint32) HypotheticalNode
}

// HypotheticalNode is an overlay row with a copy of the cycle's state, which plugins keep up to
// date. It is valid until Close or the end of the cycle.
type HypotheticalNode interface {
	// Row returns the overlay row.
	Row() uint32
	// Remove removes a pod from the node, and Add adds one.
	Remove(pod *state.Pod) *Status
	Add(pod *state.Pod) *Status
	// Judge runs the filters on the node as it is now, with the relevant nominated pods and then
	// without them, as for any node.
	Judge() *Status
	// Close releases the row, so that a plugin that tries many nodes one after the other needs
	// few rows. The node must not be used afterwards.
	Close()
}

// Candidate is a node on which the cycle's pod would fit if some pods left it.
type Candidate struct {
	Row uint32
	// Victims are these pods, the most important first.
	Victims []*state.Pod
	// PDBViolations is how many of them would violate a PodDisruptionBudget by leaving.
	PDBViolations int64
}

// PreemptionExtender can change the candidates of a preemption: HTTP extenders with a
// preemptVerb.
type PreemptionExtender interface {
	// ProcessPreemption returns the accepted candidates, with their victims, at least one each.
	ProcessPreemption(c *Cycle, candidates []Candidate) ([]Candidate, error)
}

// PostFilterResult is the result of PostFilter.
type PostFilterResult struct {
	// Override says that NominatedNode replaces the pod's nomination; an empty
	// name clears it.
	Override      bool
	NominatedNode string
	// Preemption makes room on NominatedNode. If the status is Success it is carried out beside
	// the loop, after the pod is parked with its nomination; the pod is not retried before it
	// has finished (KEP-4832).
	Preemption Preemption
	// Allow and Reject name waiting pods, as in Directives.
	Allow  []types.UID
	Reject []Rejection
}

// Preemption is what must happen for a pod to fit on a node.
type Preemption struct {
	// Victims are pods of lower priority that must leave the node, the most important first.
	// Those that wait at Permit return to the queue; the others are deleted unless they are
	// already terminating.
	Victims []*state.Pod
	// ClearNominations are pods of lower priority, by UID, whose nomination to the node is
	// cleared, so that they look for another node.
	ClearNominations []types.UID
}

// Empty reports whether nothing must happen.
func (p *Preemption) Empty() bool { return len(p.Victims) == 0 && len(p.ClearNominations) == 0 }
