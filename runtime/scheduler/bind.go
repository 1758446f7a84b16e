package scheduler

import (
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// bind starts the binding cycle of an assumed pod. From here on events cannot help the pod, so
// the queue stops keeping them for it.
func (s *Scheduler) bind(b *pipeline.Binding) {
	uid := b.Placement.Pod.UID
	pod, _ := s.queue.Get(uid)
	s.queue.Done(uid)
	s.binding[uid] = b
	s.deps.Spawn(func() {
		var directives []plugin.Directives
		var status *plugin.Status
		if err := s.deps.Outlet.Binding(b.Placement.Context, b.Placement.Pod); err != nil {
			status = plugin.Fail(err)
		} else {
			directives, status = b.Bind()
		}
		s.post(func() { s.bound(pod, b, directives, status) })
	})
}

// bound handles the result of a binding cycle.
func (s *Scheduler) bound(pod *state.QueuedPod, b *pipeline.Binding, directives []plugin.Directives, status *plugin.Status) {
	assumed := b.Placement.Pod
	delete(s.binding, assumed.UID)
	for _, ended := range b.Placement.Ended {
		ended()
	}
	b.Placement.Ended = nil
	s.carryOut(b.Pipeline(), directives, status.Success())
	if status.Success() {
		s.queue.Delete(assumed.UID)
		s.end(b, nil)
		s.deps.Outlet.Scheduled(assumed, assumed.NodeName(), b.Pipeline().LeftToOthers(assumed))
		return
	}
	gone := s.giveUp(b)
	s.end(b, status)
	// Other pods may fit now. The departure of a rejected pod must not wake the pod itself, or
	// it would be retried immediately, forever. A failed pod goes to the error backoff anyway.
	rejected := status.Rejected()
	if gone && !rejected {
		s.freed(assumed, false)
	}
	if pod != nil {
		pod.ClearRejectors()
		s.failed(pod, status, plugin.PostFilterResult{Override: true})
	}
	if gone && rejected {
		s.freed(assumed, true)
	}
}
