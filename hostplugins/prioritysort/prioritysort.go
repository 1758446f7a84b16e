// Package prioritysort orders the scheduling queue: higher spec.priority first, and among
// equals the pod that has been in the queue longer.
package prioritysort

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "PrioritySort"

// PrioritySort is the plugin.
type PrioritySort struct{ info plugin.Info }

var _ plugin.QueueSort = (*PrioritySort)(nil)

// New returns the plugin.
func New() *PrioritySort {
	return &PrioritySort{info: plugin.Info{Name: Name, ByPriority: true, Reads: plugin.Whole(abi.IncomingPriority, abi.PodQueueTime)}}
}

// Info describes the plugin.
func (p *PrioritySort) Info() *plugin.Info { return &p.info }

// Less compares priorities, then the times at which the pods were queued. Pods that are equal
// in both compare as equal.
func (p *PrioritySort) Less(a, b *state.QueuedPod) bool {
	if a.Pod.Priority != b.Pod.Priority {
		return a.Pod.Priority > b.Pod.Priority
	}
	return a.Timestamp.Before(b.Timestamp)
}
