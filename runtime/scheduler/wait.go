package scheduler

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// waiting is a pod that waits at Permit. It is state of the loop, not a blocked goroutine, so
// that a wait ends at the same point in every replay. It ends in
//
//   - allow, when all plugins agree;
//   - expire, when a plugin's timeout is over;
//   - reject, for a plugin or a preemption, when the pod is being deleted (abandon), when another
//     scheduler binds it (setBoundPod), and when its plugins are replaced (rejectWaiting).
type waiting struct {
	pod     *state.QueuedPod
	binding *pipeline.Binding
	plugins []waitingFor // those that have not allowed it yet
	watch   clock.Stopwatch
}

// over records how the wait ended.
func (w *waiting) over(code abi.Code) {
	w.binding.Wait = &report.PermitWait{Code: code, Duration: w.watch.Elapsed()}
}

type waitingFor struct {
	plugin   string
	timeout  time.Duration
	deadline time.Time
}

// first returns the plugin with the earliest deadline.
func (w *waiting) first() *waitingFor {
	first := &w.plugins[0]
	for i := range w.plugins {
		if w.plugins[i].deadline.Before(first.deadline) {
			first = &w.plugins[i]
		}
	}
	return first
}

// wait parks an assumed pod until the Permit plugins in waits allow it.
func (s *Scheduler) wait(pod *state.QueuedPod, b *pipeline.Binding, waits []pipeline.Wait) {
	w := &waiting{pod: pod, binding: b, watch: clock.Start()}
	now := s.deps.Clock.Now()
	for _, p := range waits {
		w.plugins = append(w.plugins, waitingFor{plugin: p.Plugin, timeout: p.Timeout, deadline: now.Add(p.Timeout)})
	}
	s.waiting = append(s.waiting, w)
	s.publishWaiting()
}

// publishWaiting makes the waiting pods visible to code outside the loop.
func (s *Scheduler) publishWaiting() {
	view := make([]plugin.WaitingPod, len(s.waiting))
	for i, w := range s.waiting {
		view[i].Pod = w.binding.Placement.Pod
		for j := range w.plugins {
			view[i].Plugins = append(view[i].Plugins, w.plugins[j].plugin)
		}
	}
	s.waitingView.Store(&view)
}

// allow ends the wait for one plugin. After the last one, the binding cycle begins.
func (s *Scheduler) allow(uid types.UID, by string) {
	i := s.waitingIndex(uid)
	if i < 0 {
		return
	}
	w := s.waiting[i]
	w.plugins = slices.DeleteFunc(w.plugins, func(p waitingFor) bool { return p.plugin == by })
	if len(w.plugins) > 0 {
		s.publishWaiting()
		return
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.publishWaiting()
	w.over(abi.Success)
	s.bind(w.binding)
}

// reject returns a waiting pod to the queue. It reports whether the pod was waiting.
func (s *Scheduler) reject(uid types.UID, status *plugin.Status) bool {
	i := s.waitingIndex(uid)
	if i < 0 {
		return false
	}
	w := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.publishWaiting()
	w.over(status.CodeOf())
	assumed := w.binding.Placement.Pod
	gone, retry := s.giveUp(w.binding), w.binding.Placement.State.Retry()
	w.pod.ClearRejectors()
	status, w.pod.Rejectors, w.pod.Pending = oneNodeRejected(status)
	s.end(w.binding, status)
	s.failed(w.pod, status, plugin.PostFilterResult{Override: true}, retry)
	if gone {
		s.freed(assumed, true)
	}
	return true
}

func (s *Scheduler) waitingIndex(uid types.UID) int {
	return slices.IndexFunc(s.waiting, func(w *waiting) bool { return w.pod.Pod.UID == uid })
}

// expire rejects the pods whose wait has timed out, in the order of their deadlines. A
// rejection runs Unreserve plugins, which may allow or reject other pods.
func (s *Scheduler) expire() {
	now := s.deps.Clock.Now()
	for {
		var late *waiting
		for _, w := range s.waiting {
			if at := w.first().deadline; !at.After(now) && (late == nil || at.Before(late.first().deadline)) {
				late = w
			}
		}
		if late == nil {
			return
		}
		p := late.first()
		s.reject(late.pod.Pod.UID, plugin.NewStatus(abi.Unschedulable,
			fmt.Sprintf("rejected due to timeout after waiting %v at plugin %v", p.timeout, p.plugin)).By(p.plugin))
	}
}

// AllowWaiting ends a plugin's wait for a pod at Permit.
func (s *Scheduler) AllowWaiting(uid types.UID, plugin string) {
	s.post(&inbox.Allow{UID: uid, Plugin: plugin})
}

// RejectWaiting returns a pod that waits at Permit to the queue.
func (s *Scheduler) RejectWaiting(uid types.UID, by, reason string) {
	s.post(&inbox.Reject{UID: uid, Plugin: by, Reason: reason})
}

// WaitingPods returns the pods that wait at Permit, in the order in which they began to wait.
// It may be called from any goroutine; the result must not be changed.
func (s *Scheduler) WaitingPods() []plugin.WaitingPod {
	if view := s.waitingView.Load(); view != nil {
		return *view
	}
	return nil
}
