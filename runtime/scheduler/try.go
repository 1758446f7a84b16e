package scheduler

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// try runs one scheduling cycle for a pod and acts on the decision.
func (s *Scheduler) try(ctx context.Context, pod *state.QueuedPod) {
	p := s.pipelines[pod.Pod.Profile]
	if p == nil {
		panic(fmt.Sprintf("BUG: pod %s of profile %q is in the queue", pod.Pod.Key(), pod.Pod.Profile))
	}
	if pod.Pod.Object.DeletionTimestamp != nil {
		s.drop(pod.Pod.UID)
		return
	}
	s.subject = pod.Pod.Object
	watch := clock.Start()
	if s.renew {
		s.snapshot, s.renew = state.NewSnapshot(), false
	}
	s.showNominations()
	s.cache.UpdateSnapshot(s.snapshot)
	s.sequence++
	s.drawn = s.sequence
	if s.config.Draw != nil {
		s.drawn = s.config.Draw(pod.Pod.UID)
	}
	start := s.cycle.Start()
	in := cycle.Input{
		Context: ctx, Snapshot: s.snapshot, Pod: pod, Pipeline: p,
		Nominations: s.queue.Nominations(), Extenders: s.deps.Extenders, Seed: s.seed(), Sequence: s.sequence, Draw: s.drawn,
		Now:  s.deps.Clock.Now().Unix(),
		Debt: s.debtOf(p, pod.Pod),
	}
	if forResize(pod.Pod) { // extenders place pods, and this one is placed
		in.Extenders = nil
	}
	fuel := p.FuelOfGuests(pod.Pod)
	d := s.decide(in)
	p.Settle(pod.Pod)
	tried := s.deps.Tried == nil
	if !tried && (d.Node == nil || pod.Pod.Features&reserving != 0) {
		s.tried(in, start, d)
		tried = true
	}
	var b *pipeline.Binding
	var placing []plugin.Directives
	if d.Node != nil && forResize(pod.Pod) {
		s.fits(ctx, p, &d, watch)
	} else if d.Node != nil {
		b, placing = s.reserve(ctx, p, &d, watch)
	}
	s.used(p, pod.Pod, fuel)
	a := d.Attempt
	s.totals.attempt(p.Profile(), a)
	if s.deps.Observer != nil {
		s.safely(plugin.InWrite, "the report of pod "+pod.Pod.Key(), func() { s.deps.Observer.Attempted(a, s.snapshot.Name) })
	}
	directives := append(d.Directives, placing...)
	if ctx.Err() != nil {
		s.enter(&inbox.End{}) // an attempt that was cut off would not end so in a replay
	} else {
		s.decided(a, directives)
	}
	preemption := s.beginPreemption(ctx, p, &d)
	if d.Status != nil {
		s.fail(&d)
	}
	if !tried && len(directives) > 0 {
		s.tried(in, start, d)
		tried = true
	}
	s.carryOut(p, directives, d.Status == nil)
	if preemption != nil {
		s.startPreemption(p, preemption, d.Nomination.Preemption.ClearNominations)
	}
	if b != nil {
		s.bind(b)
	}
	if !tried {
		s.tried(in, start, d)
	}
}

// tried passes on a decision and what it depended on. Copies keep both off the heap otherwise.
func (s *Scheduler) tried(in cycle.Input, start int, d cycle.Decision) {
	in.Start = &start
	s.safely(plugin.InShadow, "a trial of pod "+in.Pod.Pod.Key(), func() { s.deps.Tried(in, &d) })
}

// reserving are the features for which Reserve changes what filters look at beside the snapshot.
const reserving = state.FeatureVolumeClaims | state.FeatureResourceClaims

// reserve assumes the pod on the node and runs Reserve and Permit. It returns the binding if
// its binding cycle may begin. It returns nil if the pod has to wait, and if it failed, with
// the reason in d.Status. directives are those of the plugins.
func (s *Scheduler) reserve(ctx context.Context, p *pipeline.Pipeline, d *cycle.Decision, watch clock.Stopwatch) (_ *pipeline.Binding, directives []plugin.Directives) {
	uid := d.Pod.Pod.UID
	assumed := d.Pod.Pod.On(d.Node.Name, state.Patch{}).Assigned(s.deps.Clock.Now().Unix())
	if err := s.cache.Assume(assumed); err != nil {
		s.rejectPlaced(d, plugin.Fail(err))
		return nil, nil
	}
	s.fault("cache", d.Pod.Pod.Key())
	s.queue.ClearNomination(uid)
	placement := plugin.Placement{Context: ctx, Pod: assumed, Node: d.Node, State: d.State, Seed: s.seed(), Namespace: s.snapshot.Namespace(assumed.Namespace)}
	if p.WantsNodeInfo() {
		placement.Info = s.nodeInfo(d.Node.Name, uid)
	}
	b := p.NewBinding(placement, s.tryOf(d.Pod, watch))
	status := b.Reserve(func(a plugin.Directives) error {
		if !a.Patch.Empty() {
			patched, err := s.cache.Patch(uid, a.Patch)
			if err != nil {
				return err
			}
			b.Placement.Pod = patched
			b.Placement.Patch = b.Placement.Patch.Merge(a.Patch)
		}
		directives = append(directives, a)
		return nil
	})
	var waits []pipeline.Wait
	if status.Success() {
		var more []plugin.Directives
		waits, more, status = b.Permit()
		directives = append(directives, more...)
	}
	if !status.Success() {
		s.giveUp(b)
		d.Attempt.Timings, d.Attempt.Points = b.Release(d.Attempt.Timings, d.Attempt.Points)
		s.rejectPlaced(d, status)
		return nil, directives
	}
	if len(waits) > 0 {
		s.wait(d.Pod, b, waits)
		b = nil
	}
	return b, directives
}

// tryOf describes the current attempt for a pod.
func (s *Scheduler) tryOf(pod *state.QueuedPod, watch clock.Stopwatch) pipeline.Try {
	return pipeline.Try{
		Pod: pod.Pod, Sequence: s.sequence, Number: pod.Attempts, First: pod.InitialAttempt, Watch: watch, Flushed: pod.Flushed,
	}
}

// nodeInfo returns a copy of the cache's node without one assumed pod, because binding cycles
// read it while the loop changes the cache.
func (s *Scheduler) nodeInfo(name string, without types.UID) *state.NodeInfo {
	info, ok := s.cache.Node(name)
	if !ok {
		return nil
	}
	out := info.Clone()
	out.RemovePod(without)
	out.Nominated = slices.DeleteFunc(out.Nominated, func(p state.PlacedPod) bool { return p.Pod.UID == without })
	return out
}

// rejectPlaced records in the decision that Assume, Reserve or Permit failed or rejected the
// pod.
func (s *Scheduler) rejectPlaced(d *cycle.Decision, status *plugin.Status) {
	d.Nomination = plugin.PostFilterResult{Override: true}
	d.Attempt.Node = ""
	d.Status, d.Rejectors, d.Pending = oneNodeRejected(status)
	d.Attempt.Code, d.Attempt.Message = d.Status.CodeOf(), plain.Lines(d.Status.Message(), report.MaxMessage)
}

// oneNodeRejected formats a rejection at Reserve or Permit as kube-scheduler does: as a verdict
// on the chosen node. It returns other statuses unchanged.
func oneNodeRejected(status *plugin.Status) (out *plugin.Status, rejectors, pending []string) {
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
