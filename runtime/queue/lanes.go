package queue

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Lane says in which lane a pod waits in Active.
type Lane struct {
	// Name is empty for the lane of all pods that have none of their own.
	Name string
	// Priority is that with which the pod competes with those of other lanes. In its lane Deps.Less counts alone.
	Priority int32
}

// lane is a part of Active.
type lane struct {
	name string
	pods *podHeap
	// used is the cost of its attempts, on the scale of lanes.now.
	used uint64
	at   int // its index in lanes.ready, if it has pods
}

// lanes is Active. Its lanes take turns by what their attempts have cost, within the highest priority of their first pods. This is
// start-time fair queueing (Goyal, Vin, Cheng: Start-time Fair Queuing, SIGCOMM 1996): a lane that was empty has saved nothing, and
// has no more to pay than others.
//
// With one lane it is a heap.
type lanes struct {
	of   func(*state.QueuedPod) Lane
	less func(a, b *state.QueuedPod) bool
	all  map[string]*lane
	// ready are those that have pods, in any order.
	ready []*lane
	now   uint64 // where the lane that was last served began its turn
	sweep int    // how many lanes there may be before those are forgotten that say no more than new ones
}

func newLanes(of func(*state.QueuedPod) Lane, less func(a, b *state.QueuedPod) bool) *lanes {
	return &lanes{of: of, less: less, all: make(map[string]*lane)}
}

// named returns the lane of a name.
func (l *lanes) named(name string) *lane {
	n := l.all[name]
	if n == nil {
		if len(l.all) >= l.sweep {
			maps.DeleteFunc(l.all, func(_ string, n *lane) bool { return n.pods.Len() == 0 && n.used <= l.now })
			l.sweep = 2*len(l.all) + 16
		}
		n = &lane{name: name, pods: newHeap(l.less)}
		l.all[name] = n
	}
	return n
}

// place returns a pod's lane.
func (l *lanes) place(it *item) *lane {
	at := Lane{Priority: it.pod.Pod.Priority}
	if l.of != nil {
		at = l.of(&it.pod)
	}
	it.priority = at.Priority
	return l.named(at.Name)
}

// next returns the pod that is tried next.
func (l *lanes) next() (first *item, ok bool) {
	for _, n := range l.ready {
		if it, _ := n.pods.Peek(); first == nil || l.before(it, first) {
			first = it
		}
	}
	return first, first != nil
}

// before reports whether it is the turn of a's lane before b's. Both pods are the first ones of theirs.
func (l *lanes) before(a, b *item) bool {
	by := cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(max(a.lane.used, l.now), max(b.lane.used, l.now)))
	switch {
	case by != 0:
		return by < 0
	case l.less(&a.pod, &b.pod):
		return true
	}
	return !l.less(&b.pod, &a.pod) && a.lane.name < b.lane.name
}

// serve has the lane of a pod pay for an attempt.
func (l *lanes) serve(it *item) {
	n := it.lane
	if n == nil { // it is not in Active
		n = l.place(it)
	}
	l.now = max(l.now, n.used)
	n.used = l.now + 1
}

func (l *lanes) push(it *item) {
	n := l.place(it)
	if n.pods.Len() == 0 {
		n.at, l.ready = len(l.ready), append(l.ready, n)
	}
	it.lane = n
	n.pods.push(it)
}

func (l *lanes) remove(it *item) {
	n := it.lane
	it.lane = nil
	if n.pods.remove(it); n.pods.Len() == 0 {
		last := l.ready[len(l.ready)-1]
		l.ready[n.at], last.at = last, n.at
		l.ready = l.ready[:len(l.ready)-1]
	}
}

func (l *lanes) fix(it *item) {
	if to := l.place(it); to == it.lane {
		to.pods.fix(it)
		return
	}
	l.remove(it)
	l.push(it)
}

// list returns the pods lane by lane, and those of a lane in the order of popping.
func (l *lanes) list() (out []*item) {
	for _, name := range slices.Sorted(maps.Keys(l.all)) {
		out = append(out, l.all[name].pods.list()...)
	}
	return out
}

// Relane sorts the pods in Active into lanes again, after what Deps.Lane says has changed.
func (q *Queue) Relane() {
	for _, it := range q.active.list() {
		q.active.fix(it)
	}
}

// Charge adds the cost of an attempt for a pod of a lane, in attempts without a plugin. Pop has charged 1.
func (q *Queue) Charge(lane string, cost uint64) {
	n := q.active.named(lane)
	n.used = max(n.used, q.active.now) + min(cost, maxCost)
}

// maxCost keeps the sums of costs far from their end.
const maxCost = 1 << 32

// Ahead returns how much more than others the lanes have used that have, by name. Charge makes the same of a new queue.
func (q *Queue) Ahead() map[string]uint64 {
	out := make(map[string]uint64)
	for name, n := range q.active.all {
		if n.used > q.active.now {
			out[name] = n.used - q.active.now
		}
	}
	return out
}
