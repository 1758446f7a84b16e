package scheduler

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// waiting is a pod that Permit plugins hold back. It is a state of the loop and
// not a parked goroutine, so that waiting ends at the same point of every replay.
type waiting struct {
	pod     *state.QueuedPod
	binding *pipeline.Binding
	plugins []waitingFor // those that did not allow it yet
	watch   clock.Stopwatch
}

// over says how the wait ended.
func (w *waiting) over(code abi.Code) {
	w.binding.Wait = &report.PermitWait{Code: code, Duration: w.watch.Elapsed()}
}

type waitingFor struct {
	plugin   string
	timeout  time.Duration
	deadline time.Time
}

// first returns the plugin whose deadline comes first.
func (w *waiting) first() *waitingFor {
	first := &w.plugins[0]
	for i := range w.plugins {
		if w.plugins[i].deadline.Before(first.deadline) {
			first = &w.plugins[i]
		}
	}
	return first
}

// wait makes a pod wait for plugins that asked for it.
func (s *Scheduler) wait(pod *state.QueuedPod, b *pipeline.Binding, waits []pipeline.Wait) {
	w := &waiting{pod: pod, binding: b, watch: clock.Start()}
	now := s.deps.Clock.Now()
	for _, p := range waits {
		w.plugins = append(w.plugins, waitingFor{plugin: p.Plugin, timeout: p.Timeout, deadline: now.Add(p.Timeout)})
	}
	s.waiting = append(s.waiting, w)
	s.publishWaiting()
}

// publishWaiting lets code outside of the loop see who waits.
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

// carryOut does what plugins asked for beside their answers. Pods are activated
// only after a success: what a failed try wanted to follow it does not.
//
// A plugin that is for some namespaces only acts on pods of these.
func (s *Scheduler) carryOut(p *pipeline.Pipeline, all []pipeline.Asked, success bool) {
	for i := range all {
		asked := &all[i]
		info := p.Plugin(asked.Plugin)
		for _, uid := range asked.Allow {
			if s.may(info, uid) {
				s.allow(uid, asked.Plugin)
			}
		}
		for _, r := range asked.Reject {
			if s.may(info, r.UID) {
				s.reject(r.UID, plugin.NewStatus(abi.Unschedulable, r.Reason).By(asked.Plugin))
			}
		}
		if success && len(asked.Activate) > 0 {
			s.queue.Activate(slices.DeleteFunc(slices.Clone(asked.Activate), func(uid types.UID) bool { return !s.may(info, uid) }))
		}
	}
}

// may reports whether a plugin may act on a pod that the queue knows.
func (s *Scheduler) may(info *plugin.Info, uid types.UID) bool {
	pod, _ := s.queue.Get(uid)
	return pod != nil && (info == nil || info.May(pod.Pod.Namespace))
}

// allow ends one plugin's wait; with the last one the binding cycle begins.
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

// reject sends a waiting pod back to the queue.
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
	gone := s.giveUp(w.binding)
	w.pod.ClearRejectors()
	status, w.pod.Rejectors, w.pod.Pending = onePlaceRejected(status)
	s.end(w.binding, status)
	s.failed(w.pod, status, plugin.PostFilterResult{Override: true})
	if gone {
		s.freed(assumed, true)
	}
	return true
}

func (s *Scheduler) waitingIndex(uid types.UID) int {
	return slices.IndexFunc(s.waiting, func(w *waiting) bool { return w.pod.Pod.UID == uid })
}

// expire rejects the pods that have waited for too long, in the order of their
// deadlines. Rejecting runs plugins, which may allow or reject other pods.
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

// bind starts the binding cycle of an assumed pod. From here on the pod can fail
// but not be rejected any more, so the queue keeps no events for it.
func (s *Scheduler) bind(b *pipeline.Binding) {
	uid := b.Placement.Pod.UID
	pod, _ := s.queue.Get(uid)
	s.queue.Done(uid)
	s.binding[uid] = b
	s.deps.Spawn(func() {
		var asked []pipeline.Asked
		var status *plugin.Status
		if err := s.deps.Outlet.Binding(b.Placement.Context, b.Placement.Pod); err != nil {
			status = plugin.Fail(err)
		} else {
			asked, status = b.Bind()
		}
		s.post(func() { s.bound(pod, b, asked, status) })
	})
}

// bound takes in the result of a binding cycle.
func (s *Scheduler) bound(pod *state.QueuedPod, b *pipeline.Binding, asked []pipeline.Asked, status *plugin.Status) {
	assumed := b.Placement.Pod
	delete(s.binding, assumed.UID)
	for _, ended := range b.Placement.Ended {
		ended()
	}
	b.Placement.Ended = nil
	s.carryOut(b.Pipeline(), asked, status.Success())
	if status.Success() {
		s.queue.Delete(assumed.UID)
		s.end(b, nil)
		s.deps.Outlet.Scheduled(assumed, assumed.NodeName())
		return
	}
	gone := s.giveUp(b)
	s.end(b, status)
	// What the pod held is free for others. A rejected pod itself must not be
	// woken by its own going (it would never rest); a failed one goes to the
	// error backoff anyway.
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

// freed tells the queue that an assumed pod has left its node.
func (s *Scheduler) freed(assumed *state.Pod, exceptItself bool) {
	var precheck func(*state.Pod) bool
	if exceptItself {
		precheck = func(p *state.Pod) bool { return p.UID != assumed.UID }
	}
	s.queue.Move(state.EventAssignedPodDelete(), state.Object{OldPod: assumed}, precheck)
}
