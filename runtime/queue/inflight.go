package queue

import "github.com/berth-scheduler/berth/runtime/state"

// eventLog has the events since the oldest pod in flight was popped. When a pod is rejected,
// those that came during its attempt are replayed, because the attempt may have read the
// cluster before they happened.
type eventLog struct {
	entries []loggedEvent
	base    uint64 // number of entries[0]; numbers are never reused
	size    int    // of all entries, in bytes
}

// maxIdleEvents is the number of events for which the empty log keeps memory.
const maxIdleEvents = 1024

type loggedEvent struct {
	event  state.ClusterEvent
	object state.Object
	size   int
}

// entrySize is what an event takes without objects, in bytes.
const entrySize = 256

// sizeOf returns what an event takes, in bytes: its old object, encoded. The new one is in the cache until the next event of the
// object, of which it is the old one. Events of one change share their objects.
func (l *eventLog) sizeOf(object *state.Object) int {
	size := entrySize
	var last state.Object
	if n := len(l.entries); n > 0 {
		last = l.entries[n-1].object
	}
	if object.OldNode != nil && object.OldNode != last.OldNode && object.OldNode.Object != nil {
		size += object.OldNode.Object.Size()
	}
	if object.OldPod != nil && object.OldPod != last.OldPod && object.OldPod.Object != nil {
		size += object.OldPod.Object.Size()
	}
	for _, other := range []any{object.Old, object.New} {
		if encodes, ok := other.(interface{ Size() int }); ok {
			size += encodes.Size()
		}
	}
	return size
}

// next returns the number of the next event.
func (l *eventLog) next() uint64 { return l.base + uint64(len(l.entries)) }

func (l *eventLog) add(event state.ClusterEvent, object state.Object) {
	size := l.sizeOf(&object)
	l.size += size
	l.entries = append(l.entries, loggedEvent{event, object, size})
}

// keepFrom drops the events before number n.
func (l *eventLog) keepFrom(n uint64) {
	dropped := int(n - l.base)
	if dropped == 0 {
		return
	}
	l.base = n
	for i := range l.entries[:dropped] {
		l.size -= l.entries[i].size
	}
	kept := len(l.entries) - dropped
	if kept > dropped { // too many to copy each time
		clear(l.entries[:dropped])
		l.entries = l.entries[dropped:]
		return
	}
	copy(l.entries, l.entries[dropped:])
	clear(l.entries[kept:])
	l.entries = l.entries[:kept]
	if kept == 0 && cap(l.entries) > maxIdleEvents {
		l.entries = nil
	}
}

// record keeps an event if a pod is in flight.
func (q *Queue) record(event state.ClusterEvent, object state.Object) {
	if q.inFlight.first != nil {
		q.events.add(event, object)
	}
}

// pruneEvents drops the events that no pod in flight needs. Pods are in the order of popping,
// so events that the oldest does not need are not needed at all.
func (q *Queue) pruneEvents() {
	if oldest := q.inFlight.first; oldest != nil {
		q.events.keepFrom(oldest.since)
	} else {
		q.events.keepFrom(q.events.next())
	}
}

// InFlightEvents returns the number of kept events.
func (q *Queue) InFlightEvents() int { return len(q.events.entries) }

// MissedBytes returns the size of the kept events.
func (q *Queue) MissedBytes() int { return q.events.size }

// Forget drops the kept events: there are too many. Instead it keeps one that could help any pod that is in flight now, so no
// pod that one of them could have helped stays parked when it returns. Such a pod backs off.
func (q *Queue) Forget() {
	q.events.keepFrom(q.events.next())
	for it := q.inFlight.first; it != nil; it = it.next {
		it.since = q.events.base
	}
	q.record(state.EventForgotten(), state.Object{})
}

// InFlight returns the number of kept events by name, and the number of pods in flight that
// they are kept for.
func (q *Queue) InFlight() (events map[string]int, pods int) {
	events = make(map[string]int)
	byEvent := make(map[state.ClusterEvent]int) // naming an event takes longer than counting it
	for i := range q.events.entries {
		byEvent[q.events.entries[i].event]++
	}
	for event, n := range byEvent {
		events[event.Name()] += n
	}
	return events, q.counts[InFlight]
}

// replay returns the effect on a pod of the events since its Pop.
func (q *Queue) replay(it *item) state.Requeue {
	best := state.Leave
	for _, e := range q.events.entries[it.since-q.events.base:] {
		if q.deps.Enough != nil && q.deps.Enough(&it.pod) {
			return max(best, state.AfterBackoff)
		}
		b := q.begin()
		b.add(it, state.Leave)
		q.ask(b, e.event, e.object)
		best = max(best, b.answers[0])
		q.end(b)
		// Only a Pending plugin can answer Immediately.
		if best == state.Immediately || best == state.AfterBackoff && len(it.pod.Pending) == 0 {
			break
		}
	}
	return best
}
