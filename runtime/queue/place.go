package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/internal/heap"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Place is where a pod is in its life cycle.
type Place uint8

const (
	// Nowhere is the place before Add and after Delete.
	Nowhere Place = iota
	// Active pods are ready to be tried.
	Active
	// Backoff pods were rejected by plugins and are held back.
	Backoff
	// ErrorBackoff pods failed with an error and are held back.
	ErrorBackoff
	// Unschedulable pods are parked until an event could help.
	Unschedulable
	// Gated pods are held by a PreEnqueue plugin.
	Gated
	// InFlight pods are popped; events are kept for them.
	InFlight
	// Binding pods are in flight, but no events are kept for them: they can fail, but no longer
	// be rejected.
	Binding

	numPlaces
)

// String returns the place's name in lower case.
func (p Place) String() string {
	switch p {
	case Nowhere:
		return "nowhere"
	case Active:
		return "active"
	case Backoff:
		return "backoff"
	case ErrorBackoff:
		return "error-backoff"
	case Unschedulable:
		return "unschedulable"
	case Gated:
		return "gated"
	case InFlight:
		return "in-flight"
	case Binding:
		return "binding"
	}
	return "unknown"
}

// ParsePlace returns the place that String names; Nowhere for others.
func ParsePlace(name string) Place {
	for p := Nowhere + 1; p < numPlaces; p++ {
		if p.String() == name {
			return p
		}
	}
	return Nowhere
}

// item is the queue's record of a pod. Callers see its pod field.
type item struct {
	pod   state.QueuedPod
	place Place
	// latest is the pod's newest version. It becomes pod.Pod immediately, except while the pod
	// is out, when others may be reading pod.Pod.
	latest *state.Pod
	// failed is true if the last attempt ended with an error.
	failed bool
	// flushed is when the pod was last flushed since its last attempt; zero if it was not.
	flushed time.Time
	// since is, for a pod in flight, the number of the first event after Pop.
	since uint64
	// prev and next are the neighbours in the list of its place, if the place has one.
	prev, next *item
	// kind is set for parked and gated pods.
	kind *kind
	// lane is set for active pods, and priority is that with which they compete with those of other lanes.
	lane     *lane
	priority int32
}

func (it *item) out() bool { return it.place == InFlight || it.place == Binding }

// set makes p the newest version of a pod that is not out.
func (it *item) set(p *state.Pod) { it.pod.Pod, it.latest = p, p }

// list is a doubly linked list of items in the order of insertion, with removal in O(1).
type list struct{ first, last *item }

func (l *list) push(it *item) {
	it.prev, it.next = l.last, nil
	if l.last == nil {
		l.first = it
	} else {
		l.last.next = it
	}
	l.last = it
}

func (l *list) remove(it *item) {
	if it.prev == nil {
		l.first = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.last = it.prev
	} else {
		it.next.prev = it.prev
	}
	it.prev, it.next = nil, nil
}

// ordered has the pods of a place in the order in which they leave it.
type ordered interface {
	push(it *item)
	remove(it *item)
	// fix moves a pod to its place after it has changed.
	fix(it *item)
	list() []*item
}

type podHeap struct{ *heap.Heap[types.UID, *item] }

func newHeap(less func(a, b *state.QueuedPod) bool) *podHeap {
	return &podHeap{heap.New(
		func(it *item) types.UID { return it.latest.UID },
		func(a, b *item) bool { return less(&a.pod, &b.pod) })}
}

func (h *podHeap) push(it *item)   { h.Push(it) }
func (h *podHeap) remove(it *item) { h.Delete(it.latest.UID) }
func (h *podHeap) fix(it *item)    { h.Fix(it.latest.UID) }
func (h *podHeap) list() []*item   { return h.List() }

// put moves a pod to another place. It is the only function that changes places.
func (q *Queue) put(it *item, to Place, event state.ClusterEvent) {
	from := it.place
	if h := q.heapOf(from); h != nil {
		h.remove(it)
	} else if l := q.listOf(from); l != nil {
		l.remove(it)
	}
	q.unwait(it)
	q.counts[from]-- // the count of Nowhere is never read
	q.counts[to]++
	it.place = to
	switch to {
	case Nowhere:
		delete(q.pods, it.latest.UID)
	case Active:
		if it.pod.InitialAttempt.IsZero() {
			it.pod.InitialAttempt = q.deps.Clock.Now()
		}
	case Unschedulable, Gated:
		q.wait(it)
	case InFlight:
		it.since = q.events.next()
	}
	if h := q.heapOf(to); h != nil {
		h.push(it)
	} else if l := q.listOf(to); l != nil {
		l.push(it)
	}
	if from == InFlight {
		q.pruneEvents()
	}
	if q.deps.Observe != nil {
		q.deps.Observe(Transition{Pod: &it.pod, From: from, To: to, Event: event})
	}
}

func (q *Queue) heapOf(p Place) ordered {
	switch p {
	case Active:
		return q.active
	case Backoff:
		return q.backoff
	case ErrorBackoff:
		return q.errorBackoff
	}
	return nil
}

func (q *Queue) listOf(p Place) *list {
	switch p {
	case Unschedulable:
		return &q.parked
	case Gated:
		return &q.gated
	case InFlight:
		return &q.inFlight
	case Binding:
		return &q.binding
	}
	return nil
}
