package plugin

import "github.com/berth-scheduler/berth/abi"

// Diagnosis says why no node fits, for PostFilter.
type Diagnosis struct {
	// Codes has the verdict of each row of the snapshot. A row that PreFilter
	// left out is UnschedulableAndUnresolvable.
	Codes []abi.Code
}

// PostFilterResult is the outcome of PostFilter.
type PostFilterResult struct {
	// Override says that NominatedNode replaces the pod's nomination; an empty
	// name clears it.
	Override      bool
	NominatedNode string
}
