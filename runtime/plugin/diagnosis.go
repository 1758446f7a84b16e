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
}

// WhatIf makes hypothetical nodes, on which the cycle's pod is judged.
type WhatIf interface {
	// Trial returns a copy of a row of the snapshot. Trials of one cycle are used
	// one after the other or in turn, by one goroutine.
	Trial(row uint32) Trial
}

// Trial is a hypothetical node: an overlay row, with a copy of the cycle's state
// that plugins keep up to date. It is gone with the cycle.
type Trial interface {
	// Row is the overlay row.
	Row() uint32
	// Remove takes a pod off the node, and Add puts one on it.
	Remove(pod *state.Pod) *Status
	Add(pod *state.Pod) *Status
	// Judge runs the filter chain on the node as it is now, with the pods nominated
	// to it that count and then without them, as for any node.
	Judge() *Status
}

// PostFilterResult is the outcome of PostFilter.
type PostFilterResult struct {
	// Override says that NominatedNode replaces the pod's nomination; an empty
	// name clears it.
	Override      bool
	NominatedNode string
	// Allow and Reject name waiting pods, as in Directives.
	Allow  []types.UID
	Reject []Rejection
}
