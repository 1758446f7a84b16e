package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Pop removes the first pod of the lane in Active whose turn it is or, if that is empty, the first from Backoff although
// its backoff is not over, because there is nothing better to do (KEP-5142). It never blocks:
// the second result is false if both are empty.
//
// The pod is in flight until AddUnschedulable, AddFailed or Delete, and events are kept for it
// until then or until Done. Pop increments Attempts. The caller may read the pod, and set its
// Rejectors and Pending but nothing else.
func (q *Queue) Pop() (*state.QueuedPod, bool) {
	event := reason("Pop")
	it, ok := q.active.next()
	if !ok {
		if it, ok = q.backoff.Peek(); !ok {
			return nil, false
		}
		event = reason("PopFromBackoffQ")
	}
	it.pod.Attempts++
	q.active.serve(it)
	q.put(it, InFlight, event)
	return &it.pod, true
}

// Done says that a pod in flight can no longer be rejected, only fail, so that no events need
// be kept for it. It is called after WaitOnPermit and before PreBind. The queue still has the
// pod: call Delete once it is bound, or AddFailed.
//
// Done does nothing for other pods. A pod that is dropped without an attempt must be deleted
// instead.
func (q *Queue) Done(uid types.UID) {
	if it, ok := q.pods[uid]; ok && it.place == InFlight {
		q.put(it, Binding, reason("Done"))
	}
}

// AddUnschedulable returns a pod in flight after an attempt that did not place it. Its
// Rejectors and Pending must be set to the plugins that rejected it in this attempt (see
// state.QueuedPod.ClearRejectors); if both are empty, the call is AddFailed.
//
// Unschedulable is incremented, Errors is reset, and the events since Pop are handled as if
// they came now: if one helps, the pod goes to Backoff or Active, otherwise to Unschedulable.
//
// The nomination is kept unless Nominate is called afterwards.
//
// The result is false if the pod is not in flight: it was deleted, or returned before. Then
// nothing happens, and the caller drops the pod.
func (q *Queue) AddUnschedulable(p *state.QueuedPod) bool {
	if len(p.Rejectors) == 0 && len(p.Pending) == 0 {
		return q.AddFailed(p)
	}
	it, ok := q.comeBack(p)
	if !ok {
		return false
	}
	p.Unschedulable++
	p.Errors = 0
	answer := state.AfterBackoff
	if it.place == InFlight {
		answer = q.replay(it)
	}
	q.giveBack(it, false, answer)
	return true
}

// AddFailed returns a pod, in flight or binding, after an attempt that ended with an error,
// including faults of plugins. Errors is incremented. The pod is retried after the error
// backoff, whatever events came; Rejectors may name the plugin that failed. The result is as
// for AddUnschedulable.
func (q *Queue) AddFailed(p *state.QueuedPod) bool {
	it, ok := q.comeBack(p)
	if !ok {
		return false
	}
	p.Errors++
	q.giveBack(it, true, state.AfterBackoff)
	return true
}

// comeBack finds the record of a pod that is out and gives it its newest version.
func (q *Queue) comeBack(p *state.QueuedPod) (*item, bool) {
	it, ok := q.pods[p.Pod.UID]
	if !ok || &it.pod != p || !it.out() {
		return nil, false
	}
	p.Pod = it.latest
	return it, true
}

func (q *Queue) giveBack(it *item, failed bool, answer state.Requeue) {
	p := &it.pod
	it.failed = failed
	p.Timestamp = q.deps.Clock.Now()
	p.BackoffUntil = q.backoffEnd(p)
	p.Flushed, it.flushed = false, time.Time{}
	p.GatedBy, p.GateReason = "", ""
	event := reason("ScheduleAttemptFailure")
	if answer == state.Leave {
		q.put(it, Unschedulable, event)
		return
	}
	b := q.begin()
	b.add(it, answer)
	q.requeue(b, event)
	q.end(b)
}
