package queue

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Counts is the number of pods in each place.
type Counts struct {
	Active, Backoff, ErrorBackoff, Unschedulable, Gated, InFlight, Binding int
}

// Pending returns how many pods are where.
func (q *Queue) Pending() Counts {
	return Counts{
		Active:        q.counts[Active],
		Backoff:       q.counts[Backoff],
		ErrorBackoff:  q.counts[ErrorBackoff],
		Unschedulable: q.counts[Unschedulable],
		Gated:         q.counts[Gated],
		InFlight:      q.counts[InFlight],
		Binding:       q.counts[Binding],
	}
}

// Len returns the number of pods that wait, gated ones included; those in flight
// or binding do not.
func (q *Queue) Len() int { return len(q.pods) - q.counts[InFlight] - q.counts[Binding] }

// Has reports whether the queue knows a pod, in flight and binding ones included.
func (q *Queue) Has(uid types.UID) bool { return q.pods[uid] != nil }

// Get returns a pod and where it is; nil and Nowhere if the queue does not know
// it. The pod is for reading.
func (q *Queue) Get(uid types.UID) (*state.QueuedPod, Place) {
	it, ok := q.pods[uid]
	if !ok {
		return nil, Nowhere
	}
	return &it.pod, it.place
}

// All returns the pods place by place, in the order of the Place constants: those
// in Active and the backoffs as they would be popped, the others the longest
// there first. The queue must not be changed meanwhile.
func (q *Queue) All() iter.Seq2[Place, *state.QueuedPod] {
	return func(yield func(Place, *state.QueuedPod) bool) {
		for place := Nowhere + 1; place < numPlaces; place++ {
			if h := q.heapOf(place); h != nil {
				for _, it := range h.List() {
					if !yield(place, &it.pod) {
						return
					}
				}
				continue
			}
			for it := q.listOf(place).first; it != nil; it = it.next {
				if !yield(place, &it.pod) {
					return
				}
			}
		}
	}
}
