package scheduler

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// try gives one pod its scheduling cycle.
func (s *Scheduler) try(ctx context.Context, pod *state.QueuedPod) {
	p := s.pipelines[pod.Pod.Profile]
	if p == nil {
		panic(fmt.Sprintf("BUG: pod %s of profile %q is in the queue", pod.Pod.Key(), pod.Pod.Profile))
	}
	if pod.Pod.Object.DeletionTimestamp != nil {
		s.drop(pod.Pod.UID)
		return
	}
	watch := clock.Start()
	s.cache.UpdateSnapshot(s.snapshot)
	s.sequence++
	d := s.cycle.Schedule(cycle.Input{
		Context: ctx, Snapshot: s.snapshot, Pod: pod, Pipeline: p,
		Nominations: s.queue.Nominations(), Extenders: s.deps.Extenders, Seed: s.seed(), Sequence: s.sequence,
	})
	p.Settle()
	var b *pipeline.Binding
	var asked []pipeline.Asked
	if d.Node != nil {
		b, asked = s.place(ctx, p, &d, watch)
	}
	a := d.Attempt
	s.totals.attempt(p.Profile(), a)
	if s.deps.Observer != nil {
		s.deps.Observer.Attempted(a, s.snapshot.Name)
	}
	preemption := s.beginPreemption(ctx, p, &d)
	if d.Status != nil {
		s.fail(&d)
	}
	s.carryOut(p, append(d.Asked, asked...), d.Status == nil)
	if preemption != nil {
		s.startPreemption(p, preemption, d.Nomination.Preemption.ClearNominations)
	}
	if b != nil {
		s.bind(b)
	}
}

// place assumes the pod on the node and runs Reserve and Permit. It returns the
// binding that is ready for its binding cycle; nil when the pod has to wait, or
// when it failed, which d.Status then tells. asked is what plugins want done.
func (s *Scheduler) place(ctx context.Context, p *pipeline.Pipeline, d *cycle.Decision, watch clock.Stopwatch) (_ *pipeline.Binding, asked []pipeline.Asked) {
	uid := d.Pod.Pod.UID
	assumed := d.Pod.Pod.On(d.Node.Name, state.Patch{})
	if err := s.cache.Assume(assumed); err != nil {
		s.rejectPlaced(d, plugin.Fail(err))
		return nil, nil
	}
	s.queue.ClearNomination(uid)
	placement := plugin.Placement{Context: ctx, Pod: assumed, Node: d.Node, State: d.State, Seed: s.seed()}
	if row, ok := s.snapshot.NamespaceRow(assumed.Namespace); ok {
		placement.Namespace = s.snapshot.Namespaces.Namespace[row]
	}
	if p.WantsNodeInfo() {
		placement.Info = s.nodeInfo(d.Node.Name, uid)
	}
	b := p.NewBinding(placement)
	b.Sequence, b.Try, b.First, b.Watch, b.Flushed = s.sequence, d.Pod.Attempts, d.Pod.InitialAttempt, watch, d.Pod.Flushed
	status := b.Reserve(func(a pipeline.Asked) error {
		if !a.Patch.Empty() {
			patched, err := s.cache.Patch(uid, a.Patch)
			if err != nil {
				return err
			}
			b.Placement.Pod = patched
			b.Placement.Patch = b.Placement.Patch.Merge(a.Patch)
		}
		asked = append(asked, a)
		return nil
	})
	var waits []pipeline.Wait
	if status.Success() {
		var more []pipeline.Asked
		waits, more, status = b.Permit()
		asked = append(asked, more...)
	}
	if !status.Success() {
		s.giveUp(b)
		d.Attempt.Timings, d.Attempt.Points = b.Release(d.Attempt.Timings, d.Attempt.Points)
		s.rejectPlaced(d, status)
		return nil, asked
	}
	if len(waits) > 0 {
		s.wait(d.Pod, b, waits)
		b = nil
	}
	return b, asked
}

// nodeInfo returns a copy of what the cache knows of a node, without a pod that is
// assumed on it: binding cycles read it while the cache goes on.
func (s *Scheduler) nodeInfo(name string, without types.UID) *state.NodeInfo {
	info, ok := s.cache.Node(name)
	if !ok {
		return nil
	}
	out := info.Clone()
	out.RemovePod(without)
	return out
}

// rejectPlaced records that Assume, Reserve or Permit turned the pod away from
// its node.
func (s *Scheduler) rejectPlaced(d *cycle.Decision, status *plugin.Status) {
	d.Nomination = plugin.PostFilterResult{Override: true}
	d.Attempt.Node = ""
	d.Status, d.Rejectors, d.Pending = onePlaceRejected(status)
	d.Attempt.Code, d.Attempt.Message = d.Status.CodeOf(), plain.Lines(d.Status.Message(), report.MaxMessage)
}

// onePlaceRejected words a rejection at Reserve or Permit as kube-scheduler
// does, as a verdict on the one node that was chosen. A failure stays as it is.
func onePlaceRejected(status *plugin.Status) (out *plugin.Status, rejectors, pending []string) {
	if !status.Rejected() {
		return status, nil, nil
	}
	if status.Is(abi.Pending) {
		pending = []string{status.Plugin}
	}
	counts := make(map[string]int)
	for _, reason := range status.AllReasons() {
		counts[reason] = 1
	}
	message := report.NoFit(1, "", counts, "")
	return plugin.NewStatus(status.Code, message), []string{status.Plugin}, pending
}

// giveUp takes back what Assume and Reserve did. It reports whether the pod is
// not on its node any more, as it is when the API server has confirmed it.
func (s *Scheduler) giveUp(b *pipeline.Binding) (gone bool) {
	asked := b.Unreserve()
	uid := b.Placement.Pod.UID
	if s.cache.IsAssumed(uid) {
		if err := s.cache.Forget(uid); err != nil {
			panic(fmt.Sprintf("BUG: forget assumed pod: %v", err))
		}
	}
	_, known := s.cache.Get(uid)
	s.carryOut(b.Pipeline(), asked, false)
	return !known
}

// end shows how the placement of an attempt ended, and gives its binding back.
func (s *Scheduler) end(b *pipeline.Binding, status *plugin.Status) {
	pod, profile := b.Placement.Pod, b.Pipeline().Profile()
	e := report.Ending{
		Sequence: b.Sequence, Namespace: pod.Namespace, Pod: pod.Name, Profile: profile, Node: pod.NodeName(),
		Try: b.Try, Duration: b.Watch.Elapsed(), SinceFirst: s.deps.Clock.Now().Sub(b.First),
		Code: status.CodeOf(), Message: plain.Lines(status.Message(), report.MaxMessage), Flushed: b.Flushed, Wait: b.Wait,
	}
	s.scratch, s.points = b.Release(s.scratch[:0], s.points[:0])
	e.Timings, e.Points = s.scratch, s.points
	s.totals.add(profile, e.Timings)
	if s.deps.Observer != nil {
		s.deps.Observer.Ended(&e)
	}
}

// fail sends a pod back to the queue after a scheduling cycle.
func (s *Scheduler) fail(d *cycle.Decision) {
	d.Pod.ClearRejectors()
	d.Pod.Rejectors, d.Pod.Pending = d.Rejectors, d.Pending
	s.failed(d.Pod, d.Status, d.Nomination)
}

// failed returns a pod to the queue and says so. A pod that was deleted, or
// bound by someone else meanwhile, is not in the queue any more.
func (s *Scheduler) failed(pod *state.QueuedPod, status *plugin.Status, nomination plugin.PostFilterResult) {
	uid := pod.Pod.UID
	reason := v1.PodReasonSchedulerError
	var known bool
	if status.Rejected() {
		reason = v1.PodReasonUnschedulable
		known = s.queue.AddUnschedulable(pod)
	} else {
		known = s.queue.AddFailed(pod)
	}
	if !known {
		return
	}
	// Otherwise the promise stays: the pod's status may not have it yet, or still have one
	// that was withdrawn.
	if nomination.Override {
		s.queue.Nominate(uid, nomination.NominatedNode)
	}
	select {
	case <-s.stopped: // what fails now fails because this scheduler ends: the next one tries
		return
	default:
	}
	s.deps.Outlet.Failed(Failure{
		Pod: pod.Pod, Reason: reason, Message: plain.Lines(status.Message(), report.MaxMessage),
		Override: nomination.Override, Nominated: nomination.NominatedNode,
	})
}
