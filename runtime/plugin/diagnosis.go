package plugin

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Diagnosis says why no node fits, for PostFilter.
type Diagnosis struct {
	// Codes has the verdict of each row of the snapshot. A row that PreFilter
	// left out is UnschedulableAndUnresolvable.
	Codes []abi.Code
	// WhatIf judges nodes that are not as they are.
	WhatIf WhatIf
	// Extenders (optional) have a say in where to preempt.
	Extenders PreemptionExtender
}

// WhatIf makes hypothetical nodes, on which the cycle's pod is judged.
type WhatIf interface {
	// Node returns a copy of a row of the snapshot. Copies of one cycle are used one
	// after the other or in turn, by one goroutine.
	Node(row uint32) HypotheticalNode
}

// HypotheticalNode is an overlay row with a copy of the cycle's state, which plugins keep
// up to date. It is gone with the cycle, or before with Close.
type HypotheticalNode interface {
	// Row is the overlay row.
	Row() uint32
	// Remove takes a pod off the node, and Add puts one on it.
	Remove(pod *state.Pod) *Status
	Add(pod *state.Pod) *Status
	// Judge runs the filter chain on the node as it is now, with the pods nominated
	// to it that count and then without them, as for any node.
	Judge() *Status
	// Close releases the row, so that a plugin that tries many nodes one after the other
	// needs few rows. The node must not be used afterwards.
	Close()
}

// Candidate is a node on which the cycle's pod would fit if some pods left it.
type Candidate struct {
	Row uint32
	// Victims are these pods, the most important first.
	Victims []*state.Pod
	// PDBViolations is how many of them would leave in violation of a
	// PodDisruptionBudget.
	PDBViolations int64
}

// PreemptionExtender is whoever else has a say in where to preempt: HTTP
// extenders with a preemptVerb.
type PreemptionExtender interface {
	// ProcessPreemption returns the candidates that stand, with the victims that
	// they then have, at least one each.
	ProcessPreemption(c *Cycle, candidates []Candidate) ([]Candidate, error)
}

// PostFilterResult is the outcome of PostFilter.
type PostFilterResult struct {
	// Override says that NominatedNode replaces the pod's nomination; an empty
	// name clears it.
	Override      bool
	NominatedNode string
	// Preemption makes room on NominatedNode. It is carried out if the status is
	// Success, beside the loop and after the pod is parked with its nomination; the
	// pod is not tried again before it is done (KEP-4832).
	Preemption Preemption
	// Allow and Reject name waiting pods, as in Directives.
	Allow  []types.UID
	Reject []Rejection
}

// Preemption is what has to happen for a pod to fit on a node.
type Preemption struct {
	// Victims are pods of lower priority that have to leave the node, the most
	// important first. Those that wait at Permit go back to the queue, the others
	// are deleted, unless that has begun.
	Victims []*state.Pod
	// ClearNominations is pods of lower priority, by UID, whose nomination to the node is
	// void: they are to look for another one.
	ClearNominations []types.UID
}

// Empty reports whether nothing has to happen.
func (p *Preemption) Empty() bool { return len(p.Victims) == 0 && len(p.ClearNominations) == 0 }
