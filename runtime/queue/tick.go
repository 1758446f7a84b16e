package queue

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Tick does what is due by the clock and returns how many pods moved: pods whose backoff is
// over become active, and pods whose RetryAt has come, or parked for longer than MaxUnschedulable, are retried. While the
// loop runs, it calls Tick at least once per BackoffWindow.
//
// The outcome does not depend on how often it is called: backoffs are compared with the
// beginning of the current window, and leftovers are those of the last whole LeftoverInterval
// since New.
func (q *Queue) Tick() int {
	now := q.deps.Clock.Now()
	moved := q.flushBackoff(now) + q.flushRetries(now)
	if due := q.leftoverTime(now); due.After(q.flushedFor) {
		q.flushedFor = due
		moved += q.flushLeftover(due)
	}
	return moved
}

// leftoverTime returns the last time of a flush that is not after t.
func (q *Queue) leftoverTime(t time.Time) time.Time {
	n := t.Sub(q.start) / q.config.LeftoverInterval
	return q.start.Add(n * q.config.LeftoverInterval)
}

// RetryPause is how long a pod waits that may not be tried again when its RetryAt has come.
const RetryPause = time.Minute

// flushRetries has the pods tried again whose RetryAt has come, and asks the gates of gated ones again.
func (q *Queue) flushRetries(now time.Time) (moved int) {
	b := q.begin()
	for {
		it, ok := q.retries.Peek()
		if !ok || it.pod.RetryAt.After(now) {
			break
		}
		if q.deps.Retries != nil && !q.deps.Retries(&it.pod) {
			it.pod.RetryAt = now.Add(RetryPause)
			q.retries.fix(it)
			continue
		}
		q.retries.remove(it)
		it.pod.RetryAt, it.pod.RetryBy = time.Time{}, ""
		b.add(it, state.AfterBackoff)
	}
	q.requeue(b, reason("RetryAfter"))
	for _, it := range b.items {
		if it.place != Gated {
			moved++
		}
	}
	q.end(b)
	return moved
}

// flushLeftover moves the pods that were parked for too long at the time due, and asks the gates of
// gated ones again.
func (q *Queue) flushLeftover(due time.Time) (moved int) {
	b := q.begin()
	// Parked pods are in the order of their timestamps, gated ones are not.
	for it := q.parked.first; it != nil && q.flush(it, due); it = it.next {
		b.add(it, state.Leave)
	}
	for it := q.gated.first; it != nil; it = it.next {
		if q.flush(it, due) {
			b.add(it, state.Leave)
		}
	}
	if len(b.items) > 0 {
		parked := q.counts[Unschedulable]
		q.move(b, state.EventUnschedulableTimeout(), state.Object{})
		moved = parked - q.counts[Unschedulable]
		for _, it := range b.items[moved:] {
			if it.place != Gated {
				moved++
			}
		}
	}
	q.end(b)
	return moved
}

// flush reports whether a pod was parked or gated for too long at a flush until the time due, and for that long since it was
// last flushed; it notes the last such flush.
func (q *Queue) flush(it *item, due time.Time) bool {
	since := it.pod.Timestamp
	if it.flushed.After(since) {
		since = it.flushed
	}
	before := it.flushed
	for {
		since = q.leftoverTime(since.Add(q.config.MaxUnschedulable)).Add(q.config.LeftoverInterval)
		if since.After(due) {
			break
		}
		it.pod.Flushed, it.flushed = true, since
	}
	return it.flushed != before
}

// NextRetry returns the earliest RetryAt of the parked and gated pods; false if none has one.
func (q *Queue) NextRetry() (time.Time, bool) {
	it, ok := q.retries.Peek()
	if !ok {
		return time.Time{}, false
	}
	return it.pod.RetryAt, true
}

// NextDeadline returns the earliest time, not before now, at which Pop or Tick moves a pod if
// nothing else happens; false if there is none. Gated pods count only if they have a RetryAt.
func (q *Queue) NextDeadline() (time.Time, bool) {
	now := q.deps.Clock.Now()
	if q.counts[Active] > 0 || q.backoff.Len() > 0 {
		return now, true
	}
	var next time.Time
	if it, ok := q.errorBackoff.Peek(); ok {
		next = it.pod.BackoffUntil.Add(BackoffWindow)
	}
	if at, ok := q.NextRetry(); ok && (next.IsZero() || at.Before(next)) {
		next = at
	}
	if it := q.parked.first; it != nil {
		// The first flush after the end, not at it.
		end := it.pod.Timestamp.Add(q.config.MaxUnschedulable)
		if t := q.leftoverTime(end).Add(q.config.LeftoverInterval); next.IsZero() || t.Before(next) {
			next = t
		}
	}
	if next.IsZero() {
		return time.Time{}, false
	}
	if next.Before(now) {
		next = now
	}
	return next, true
}
