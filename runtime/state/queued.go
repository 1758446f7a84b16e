package state

import "time"

// QueuedPod is a pod in the scheduling queue with what the queue knows of it.
// It belongs to the queue; plugins that sort may read it.
type QueuedPod struct {
	Pod *Pod
	// Timestamp is when the pod was last added to or moved in the queue.
	Timestamp time.Time
	// InitialAttempt is when the pod was first ready to be tried; zero before.
	InitialAttempt time.Time
	// Attempts is how often the pod was popped.
	Attempts int
	// Unschedulable counts the tries that plugins rejected, for the backoff.
	Unschedulable int
	// Errors counts consecutive failed tries, for the error backoff. A try that
	// ends without a failure sets it to zero.
	Errors int
	// BackoffUntil is the end of the current backoff; zero for none.
	BackoffUntil time.Time
	// Rejectors is the plugins that rejected the last try with Unschedulable or
	// UnschedulableAndUnresolvable, sorted.
	Rejectors []string
	// Pending is the plugins that rejected the last try with Pending, sorted.
	Pending []string
	// GatedBy is the plugin whose PreEnqueue holds the pod; empty for none.
	GatedBy string
	// GateReason is what that plugin said.
	GateReason string
	// SortKey is what a plugin that sorts by keys computed; nil for none.
	SortKey []byte
	// Flushed tells that the pod came back by timeout and not by an event.
	Flushed bool
}

// ClearRejectors forgets who rejected the pod before a new result is recorded.
func (q *QueuedPod) ClearRejectors() {
	q.Rejectors, q.Pending, q.GatedBy, q.GateReason = nil, nil, "", ""
}
