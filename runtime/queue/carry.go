package queue

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Carried is what the queue knows about a pod besides the pod and its place. With the pods of All, Flushed, Missed and
// the Nominations it is all that a queue carries on.
type Carried struct {
	// Failed is true if the last attempt ended with an error.
	Failed bool
	// Flushed is when the pod was last flushed since its last attempt; zero if it was not.
	Flushed time.Time
	// Latest is the newest version of a pod that is out; nil if the pod itself is the newest.
	Latest *state.Pod
	// Since is, for a pod in flight, how many of the events of Missed it does not wait for: they came before.
	Since uint64
}

// Carried returns what the queue knows about a pod.
func (q *Queue) Carried(uid types.UID) (c Carried) {
	it := q.pods[uid]
	if it == nil {
		return c
	}
	c.Failed, c.Flushed = it.failed, it.flushed
	if it.latest != it.pod.Pod {
		c.Latest = it.latest
	}
	if it.place == InFlight {
		c.Since = it.since - q.events.base
	}
	return c
}

// Flushed returns when the queue last looked for pods that were parked for too long.
func (q *Queue) Flushed() time.Time { return q.flushedFor }

// Missed yields the events that are kept for pods in flight.
func (q *Queue) Missed() iter.Seq2[state.ClusterEvent, state.Object] {
	return func(yield func(state.ClusterEvent, state.Object) bool) {
		for i := range q.events.entries {
			if e := &q.events.entries[i]; !yield(e.event, e.object) {
				return
			}
		}
	}
}

// Restore puts a pod of another queue into its place in this one. Pods must come in the order of All, and
// the queue must be new. It returns false for a pod that cannot be: it is known already or nowhere.
func (q *Queue) Restore(p state.QueuedPod, to Place, c Carried) bool {
	if q.pods[p.Pod.UID] != nil || to == Nowhere || to >= numPlaces {
		return false
	}
	it := &item{pod: p, latest: p.Pod, failed: c.Failed}
	if c.Latest != nil {
		it.latest = c.Latest
	}
	q.pods[p.Pod.UID] = it
	if q.deps.Key != nil && q.heapOf(to) != nil {
		q.deps.Key([]*state.QueuedPod{&it.pod})
	}
	q.put(it, to, reason("Restore"))
	if to == InFlight {
		it.since = q.events.base + c.Since
	}
	return true
}

// Leftover sets when a restored pod was last flushed.
func (q *Queue) Leftover(uid types.UID, at time.Time) {
	if it := q.pods[uid]; it != nil {
		it.flushed = at
	}
}

// Miss adds an event of Missed. All pods must have come before.
func (q *Queue) Miss(event state.ClusterEvent, object state.Object) { q.events.add(event, object) }

// Resume sets what Flushed returned.
func (q *Queue) Resume(flushed time.Time) { q.flushedFor = flushed }
