package queue

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Pop takes the first pod out of Active; if there is none, the first out of
// Backoff, whose time has not come yet, as nothing better is to be done
// (KEP-5142). It never waits: the second result is false if both are empty.
//
// The pod is in flight until AddUnschedulable, AddFailed or Delete, and events
// are kept for it until then or until Done. Pop counts it in Attempts. The caller
// may read the pod and sets its Rejectors and Pending, nothing else.
func (q *Queue) Pop() (*state.QueuedPod, bool) {
	event := reason("Pop")
	it, ok := q.active.Peek()
	if !ok {
		if it, ok = q.backoff.Peek(); !ok {
			return nil, false
		}
		event = reason("PopFromBackoffQ")
	}
	it.pod.Attempts++
	q.put(it, InFlight, event)
	return &it.pod, true
}

// Done says that a pod in flight cannot be rejected any more, only fail, so that
// no events need be kept for it: call it after WaitOnPermit and before PreBind.
// The queue still knows the pod: call Delete once it is bound, or AddFailed.
//
// Done does nothing for other pods. A pod that is dropped without being tried is
// to be deleted instead.
func (q *Queue) Done(uid types.UID) {
	if it, ok := q.pods[uid]; ok && it.place == InFlight {
		q.put(it, Binding, reason("Done"))
	}
}

// AddUnschedulable returns a pod in flight after a try that did not place it.
// Before, its Rejectors and Pending must say who rejected it in this try (see
// state.QueuedPod.ClearRejectors); with neither, the call is AddFailed.
//
// Unschedulable is counted, Errors set to zero, and the events that came since
// Pop are looked at as if they came now: if one helps, the pod goes to Backoff or
// Active, else to Unschedulable.
//
// The nomination stays as it was, unless Nominate is called afterwards.
//
// The result is false if the pod is not in flight: deleted meanwhile, or returned
// before. Nothing happens then, and the caller drops the pod.
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

// AddFailed returns a pod, in flight or binding, after a try that ended with an
// error, a plugin's fault included. Errors is counted. The pod is tried again
// after the error backoff, whatever events came; Rejectors may name the plugin
// that failed. The result is as that of AddUnschedulable.
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
	p.Flushed = false
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
