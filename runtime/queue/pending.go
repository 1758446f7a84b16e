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

// Pending counts the pods in each place.
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

// Len returns the number of pods that wait, including gated ones, without those in flight or
// binding.
func (q *Queue) Len() int { return len(q.pods) - q.counts[InFlight] - q.counts[Binding] }

// Has reports whether the queue knows a pod, including those in flight and binding.
func (q *Queue) Has(uid types.UID) bool { return q.pods[uid] != nil }

// Get returns a pod and its place; nil and Nowhere if the queue does not know it. The pod must
// not be changed.
func (q *Queue) Get(uid types.UID) (*state.QueuedPod, Place) {
	it, ok := q.pods[uid]
	if !ok {
		return nil, Nowhere
	}
	return &it.pod, it.place
}

// All returns the pods place by place, in the order of the Place constants: those in Active lane
// by lane, there and in the backoffs in the order of popping, the others in the order of arrival. The queue must not
// be changed meanwhile.
func (q *Queue) All() iter.Seq2[Place, *state.QueuedPod] {
	return func(yield func(Place, *state.QueuedPod) bool) {
		for place := Nowhere + 1; place < numPlaces; place++ {
			if h := q.heapOf(place); h != nil {
				for _, it := range h.list() {
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
