package queue

import "github.com/berth-scheduler/berth/runtime/state"

// eventLog has the events since the oldest pod in flight was popped. When a pod is rejected,
// those that came during its attempt are replayed, because the attempt may have read the
// cluster before they happened.
type eventLog struct {
	entries []loggedEvent
	base    uint64 // number of entries[0]; numbers are never reused
}

// maxIdleEvents is the number of events for which the empty log keeps memory.
const maxIdleEvents = 1024

type loggedEvent struct {
	event  state.ClusterEvent
	object state.Object
}

// next returns the number of the next event.
func (l *eventLog) next() uint64 { return l.base + uint64(len(l.entries)) }

func (l *eventLog) add(event state.ClusterEvent, object state.Object) {
	l.entries = append(l.entries, loggedEvent{event, object})
}

// keepFrom drops the events before number n.
func (l *eventLog) keepFrom(n uint64) {
	dropped := int(n - l.base)
	if dropped == 0 {
		return
	}
	l.base = n
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
