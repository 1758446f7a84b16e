package state

import "time"

// QueuedPod is a pod in the scheduling queue with what the queue knows about it. It belongs to
// the queue; plugins that sort may read it.
type QueuedPod struct {
	Pod *Pod
	// Timestamp is when the pod was last added to or moved in the queue.
	Timestamp time.Time
	// InitialAttempt is when the pod was first ready to be tried; zero before.
	InitialAttempt time.Time
	// Attempts is how often the pod was popped.
	Attempts int
	// Unschedulable counts the attempts that plugins rejected, for the backoff.
	Unschedulable int
	// Errors counts consecutive failed attempts, for the error backoff. An attempt without a
	// failure resets it.
	Errors int
	// BackoffUntil is the end of the current backoff; may be zero.
	BackoffUntil time.Time
	// Rejectors are the plugins that rejected the last attempt with Unschedulable or
	// UnschedulableAndUnresolvable, sorted.
	Rejectors []string
	// Pending are the plugins that rejected the last attempt with Pending, sorted.
	Pending []string
	// GatedBy is the plugin that gates the pod: by its PreEnqueue, or because the pod waits for
	// it; may be empty.
	GatedBy string
	// GateReason says why.
	GateReason string
	// RetryAt is when the pod is tried again whatever events come, while it is parked or gated, and RetryBy the plugin that asks
	// for it; may be zero.
	RetryAt time.Time
	RetryBy string
	// SortKey is computed by a plugin that sorts by keys; may be nil.
	SortKey []byte
	// Flushed is true if the pod was moved by the timeout, not by an event.
	Flushed bool
}

// ClearRejectors removes the rejectors before a new result is recorded.
func (q *QueuedPod) ClearRejectors() {
	q.Rejectors, q.Pending, q.GatedBy, q.GateReason = nil, nil, "", ""
	q.RetryAt, q.RetryBy = time.Time{}, ""
}
