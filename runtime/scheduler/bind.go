package scheduler

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// running is a binding cycle beside the loop.
type running struct {
	pod     *state.QueuedPod // nil if the queue did not have it
	binding *pipeline.Binding
	patch   state.Patch // of the pod when the cycle began, because the cycle patches it, too
}

// bind starts the binding cycle of an assumed pod. From here on events cannot help the pod, so
// the queue stops keeping them for it.
func (s *Scheduler) bind(b *pipeline.Binding) {
	uid := b.Placement.Pod.UID
	pod, _ := s.queue.Get(uid)
	s.queue.Done(uid)
	s.binding[b.Try.Sequence] = running{pod, b, b.Placement.Patch}
	b.Placement.Waits = s.unsent.begin()
	s.deps.Spawn(func() { s.post(s.runBinding(b)) })
}

// bindingOf returns the running binding cycle of a pod; nil if there is none. A pod that was deleted
// and made again with its UID may have several; the last one is that of the pod.
func (s *Scheduler) bindingOf(uid types.UID) *pipeline.Binding {
	var last *pipeline.Binding
	for _, r := range s.binding {
		if r.binding.Try.Pod.UID == uid && (last == nil || r.binding.Try.Sequence > last.Try.Sequence) {
			last = r.binding
		}
	}
	return last
}

// bound handles the result of a binding cycle.
func (s *Scheduler) bound(e *inbox.Bound) {
	r, ok := s.binding[e.Attempt]
	if !ok {
		panic(fmt.Sprintf("BUG: attempt %d has no running binding cycle", e.Attempt))
	}
	delete(s.binding, e.Attempt)
	s.subject = r.binding.Try.Pod.Object
	pod, b, status := r.pod, r.binding, e.Status
	if !e.Ran {
		if !e.Patch.Empty() {
			b.Placement.Patch, b.Placement.Pod = e.Patch, b.Placement.Pod.On(b.Placement.Node.Name, e.Patch)
		}
		if err := b.Resume(e.Changed); err != nil {
			panic(fmt.Sprintf("BUG: what a binding cycle has changed: %v", err))
		}
	}
	assumed := b.Placement.Pod
	for _, ended := range b.Placement.Ended {
		ended()
	}
	b.Placement.Ended, b.Placement.Beside = nil, nil
	for _, call := range e.Beside {
		for _, breaker := range b.Pipeline().Breakers() {
			if breaker.Info().Name == call.Plugin {
				breaker.Learn(assumed.Namespace, call)
			}
		}
	}
	s.carryOut(b.Pipeline(), e.Directives, status.Success())
	if status.Success() {
		s.budgets.Return(string(assumed.UID))
		if !s.resizing(assumed.UID) {
			s.leave(assumed.UID)
		}
		s.pay(assumed)
		s.end(b, nil)
		s.deps.Outlet.Scheduled(assumed, assumed.NodeName(), b.LeftToOthers)
		return
	}
	gone, retry := s.giveUp(b), b.Placement.State.Retry()
	s.end(b, status)
	// Other pods may fit now. The departure of a rejected pod must not wake the pod itself, or
	// it would be retried immediately, forever. A failed pod goes to the error backoff anyway.
	rejected := status.Rejected()
	if gone && !rejected {
		s.freed(assumed, false)
	}
	if pod != nil {
		pod.ClearRejectors()
		s.failed(pod, status, plugin.PostFilterResult{Override: true}, retry)
	}
	if gone && rejected {
		s.freed(assumed, true)
	}
}
