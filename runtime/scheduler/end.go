package scheduler

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/internal/budgets"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// end reports how a binding ended and releases it for reuse.
func (s *Scheduler) end(b *pipeline.Binding, status *plugin.Status) {
	pod, profile := b.Placement.Pod, b.Pipeline().Profile()
	e := report.Ending{
		Sequence: b.Try.Sequence, Namespace: pod.Namespace, Pod: pod.Name, Profile: profile, Node: pod.NodeName(),
		Try: b.Try.Number, Duration: b.Try.Watch.Elapsed(), SinceFirst: s.deps.Clock.Now().Sub(b.Try.First),
		Code: status.CodeOf(), Message: plain.Lines(status.Message(), report.MaxMessage), Flushed: b.Try.Flushed, Wait: b.Wait,
		LeftToOthers: b.LeftToOthers.Names(),
	}
	s.scratch, s.points = b.Release(s.scratch[:0], s.points[:0])
	e.Timings, e.Points = s.scratch, s.points
	s.totals.add(profile, e.Timings)
	if s.deps.Observer != nil {
		s.safely(plugin.InWrite, "the report of pod "+pod.Key(), func() { s.deps.Observer.Ended(&e) })
	}
}

// giveUp undoes Reserve and forgets the assumed pod. It reports whether the pod has left its
// node: if the API server has confirmed the binding, the pod stays.
func (s *Scheduler) giveUp(b *pipeline.Binding) (gone bool) {
	directives := b.Unreserve()
	uid := b.Placement.Pod.UID
	if s.cache.IsAssumed(uid) {
		if err := s.cache.Forget(uid); err != nil {
			panic(fmt.Sprintf("BUG: forget assumed pod: %v", err))
		}
		s.unassumed(b.Placement.Pod)
	}
	_, known := s.cache.Get(uid)
	s.carryOut(b.Pipeline(), directives, false)
	return !known
}

// freed tells the queue that an assumed pod has left its node, so that others may fit now.
func (s *Scheduler) freed(assumed *state.Pod, exceptItself bool) {
	var precheck func(*state.Pod) bool
	if exceptItself {
		precheck = func(p *state.Pod) bool { return p.UID != assumed.UID }
	}
	s.queue.Move(state.EventAssignedPodDelete(), state.Object{OldPod: assumed}, precheck)
}

// abandon forgets an assumed pod that is being deleted. A pod that waits at Permit is rejected.
// A running binding cycle continues, and finds at its end that the pod was forgotten.
func (s *Scheduler) abandon(uid types.UID) {
	if s.reject(uid, plugin.NewStatus(abi.Unschedulable, "pod was deleted while it waited")) {
		return
	}
	assumed, _ := s.cache.Get(uid)
	if err := s.cache.Forget(uid); err == nil {
		s.unassumed(assumed)
		s.freed(assumed, false)
	}
}

// unassumed tells the plugins of a pod's profile that it was confirmed or given up.
func (s *Scheduler) unassumed(pod *state.Pod) {
	if p := s.pipelines[pod.Profile]; p != nil {
		p.Unassumed(pod.UID)
	}
}

// fail returns a pod to the queue after a scheduling cycle without a node.
func (s *Scheduler) fail(d *cycle.Decision) {
	d.Pod.ClearRejectors()
	d.Pod.Rejectors, d.Pod.Pending = d.Rejectors, d.Pending
	s.failed(d.Pod, d.Status, d.Nomination, d.State.Retry())
}

// failed returns a pod to the queue and informs the outlet. It does nothing if the pod was
// deleted or bound by another scheduler in the meantime, and so is no longer in the queue. retry counts for a pod that
// was rejected.
func (s *Scheduler) failed(pod *state.QueuedPod, status *plugin.Status, nomination plugin.PostFilterResult, retry state.Retry) {
	uid := pod.Pod.UID
	s.budgets.Forget(string(uid))
	reason := v1.PodReasonSchedulerError
	var known bool
	if status.Rejected() {
		reason = v1.PodReasonUnschedulable
	} else if s.openOf(pod.Pod, status.Plugin) != nil {
		pod.Rejectors = []string{status.Plugin}
	}
	if status.Rejected() && len(pod.Rejectors)+len(pod.Pending) > 0 {
		s.rejected(pod)
		if retry.After > 0 {
			pod.RetryAt, pod.RetryBy = s.deps.Clock.Now().Add(retry.After), retry.Plugin
		}
		known = s.queue.AddUnschedulable(pod)
	} else { // it is retried after a pause, whatever events come; so is a pod that preBind or bind rejected
		retry = state.Retry{}
		if p := s.pipelines[pod.Pod.Profile]; p != nil {
			s.caused(p.Plugin(status.Plugin), pod.Pod, budgets.Wakeups)
		}
		known = s.queue.AddFailed(pod)
	}
	s.probeAgain(pod.Pod.Profile, pod.Pod.Namespace)
	if !known {
		return
	}
	s.recheck(uid)
	if forResize(pod.Pod) { // kube-scheduler says nothing of a resize that has to wait
		return
	}
	// Without Override the nomination is kept: the pod's status may be out of date, because it
	// lacks a new nomination or still has a cleared one.
	if nomination.Override {
		s.queue.Nominate(uid, nomination.NominatedNode)
	}
	select {
	case <-s.stopped: // it failed because this scheduler is stopping; the next leader retries it
		return
	default:
	}
	s.deps.Outlet.Failed(Failure{
		Pod: pod.Pod, Reason: reason, Message: plain.Lines(status.Message(), report.MaxMessage),
		Override: nomination.Override, Nominated: nomination.NominatedNode, RetryAfter: retry.After,
	})
}
