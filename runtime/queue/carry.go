package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Flushed returns when the queue last looked for pods that were parked for too long, and Failed whether
// the last attempt for a pod ended with an error. With the pods of All and the Nominations of a queue in
// which no pod is in flight or binding, they are all that it carries on.
func (q *Queue) Flushed() time.Time { return q.flushedFor }

// Failed reports whether the last attempt for a pod ended with an error.
func (q *Queue) Failed(uid types.UID) bool {
	it := q.pods[uid]
	return it != nil && it.failed
}

// Restore puts a pod of another queue into its place in this one. Pods must come in the order of All, and
// the queue must be new. It returns false for a pod that cannot be: it is known already, in flight, binding
// or nowhere.
func (q *Queue) Restore(p state.QueuedPod, to Place, failed bool) bool {
	if q.pods[p.Pod.UID] != nil || to == Nowhere || to == InFlight || to >= Binding {
		return false
	}
	it := &item{pod: p, latest: p.Pod, failed: failed}
	q.pods[p.Pod.UID] = it
	if q.deps.Key != nil && q.heapOf(to) != nil {
		q.deps.Key([]*state.QueuedPod{&it.pod})
	}
	q.put(it, to, reason("Restore"))
	return true
}

// Resume sets what Flushed returned.
func (q *Queue) Resume(flushed time.Time) { q.flushedFor = flushed }
