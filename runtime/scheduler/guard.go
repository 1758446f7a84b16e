package scheduler

import (
	"errors"
	"fmt"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// ErrBroken says that the loop panicked. Queue and cache may be half-changed, so this scheduler handles nothing any more.
var ErrBroken = errors.New("the scheduling loop cannot go on")

// Broken returns why the loop has ended by a panic, which wraps ErrBroken; nil if it has not. It must be called like
// Pending.
func (s *Scheduler) Broken() error { return s.broken }

// breaks is deferred around the handling of an event. A panic that comes here was in queue, cache, or what else the loop
// owns: those of plugins and of whatever the loop tells were stopped before.
func (s *Scheduler) breaks() {
	r := recover()
	if r == nil {
		return
	}
	p := plugin.Stopped(plugin.InLoop, "the loop", r)
	s.safely(plugin.InLoop, p.What, func() { // an object of an edited recording may be none
		if s.subject != nil {
			p.What += ", while it handled " + describe(s.subject)
		}
		s.deps.Suspects.blame(s.subject, p)
	})
	s.broken = fmt.Errorf("%w: %w", ErrBroken, p)
	s.endQuestions()
	s.panicked(p)
}

// afterwards handles what enters a broken loop: binding cycles and evictions end, so that Run can end, too.
func (s *Scheduler) afterwards(e inbox.Event) {
	switch e := e.(type) {
	case *inbox.Bound:
		delete(s.binding, e.Attempt)
	case *inbox.Evicted:
		delete(s.evicting, e.Eviction)
	}
}

func (s *Scheduler) panicked(p *plugin.Panic) {
	if s.deps.Panicked != nil {
		s.deps.Panicked(p)
	}
}

// safely calls something outside of the loop, which must not end the loop.
func (s *Scheduler) safely(place plugin.Place, what string, call func()) {
	_ = plugin.Guard(place, what, s.deps.Panicked, call)
}

// fault is where tests make the scheduler panic.
func (s *Scheduler) fault(at, what string) {
	if s.deps.Fault != nil {
		s.deps.Fault(at, what)
	}
}

// decide runs a scheduling cycle. If it panics, that is the result of the attempt. What was kept from cycle to cycle may
// be half-changed after a panic in it, or in one of its plugins, so it is made anew.
func (s *Scheduler) decide(in cycle.Input) (d cycle.Decision) {
	before := in.Pipeline.Panics()
	if err := plugin.Guard(plugin.InAttempt, "a scheduling cycle of pod "+in.Pod.Pod.Key(), s.deps.Panicked, func() {
		s.fault("attempt", in.Pod.Pod.Key())
		d = s.cycle.Schedule(in)
	}); err != nil {
		d = cutShort(in, err)
	} else if in.Pipeline.Panics() == before {
		return d
	}
	rotation, attempt := s.cycle.Rotation(), *d.Attempt
	d.Attempt = &attempt
	s.cycle = cycle.New(s.config.Cycle)
	s.cycle.Resume(rotation)
	s.renew = true
	return d
}

// cutShort is the decision of a cycle that ended with an error.
func cutShort(in cycle.Input, err error) cycle.Decision {
	pod, status := in.Pod.Pod, plugin.Fail(err)
	return cycle.Decision{
		Pod: in.Pod, Status: status, State: &state.CycleState{}, Nomination: plugin.PostFilterResult{Override: true},
		Attempt: &report.Attempt{
			Sequence: in.Sequence, Namespace: pod.Namespace, Pod: pod.Name, UID: pod.UID, Profile: in.Pipeline.Profile(),
			Try: in.Pod.Attempts, Nodes: in.Snapshot.Len(), Code: status.CodeOf(), Message: plain.Lines(status.Message(), report.MaxMessage),
		},
	}
}

// runBinding runs a binding cycle beside the loop and returns its result.
func (s *Scheduler) runBinding(b *pipeline.Binding) *inbox.Bound {
	e := &inbox.Bound{Attempt: b.Try.Sequence, Ran: true}
	what := "the binding cycle of pod " + b.Placement.Pod.Key()
	if err := plugin.Guard(plugin.InBinding, what, s.deps.Panicked, func() {
		s.fault("binding", b.Placement.Pod.Key())
		if err := s.deps.Outlet.Binding(b.Placement.Context, b.Placement.Pod); err != nil {
			e.Status = plugin.Fail(err)
		} else {
			e.Directives, e.Status = b.Bind()
		}
	}); err != nil {
		e.Directives, e.Status = nil, plugin.Fail(err)
	}
	b.Placement.Waits(false)
	if !e.Status.Success() {
		e.Changed = b.Changed()
	}
	e.Patch, e.Beside = b.Placement.Patch, b.Placement.Beside
	return e
}

// guardedOutlet keeps the panics of an outlet from the loop. Binding is called beside it.
type guardedOutlet struct {
	Outlet
	s *Scheduler
}

// Scheduled implements Outlet.
func (o guardedOutlet) Scheduled(pod *state.Pod, node string, left state.Feature) {
	o.s.safely(plugin.InWrite, "the report of pod "+pod.Key(), func() { o.Outlet.Scheduled(pod, node, left) })
}

// Failed implements Outlet.
func (o guardedOutlet) Failed(f Failure) {
	o.s.safely(plugin.InWrite, "the report of pod "+f.Pod.Key(), func() { o.Outlet.Failed(f) })
}

// Preempted implements Outlet.
func (o guardedOutlet) Preempted(p Preempted) {
	o.s.safely(plugin.InWrite, "the report of pod "+p.Victim.Key(), func() { o.Outlet.Preempted(p) })
}

// NominationCleared implements Outlet.
func (o guardedOutlet) NominationCleared(pod *state.Pod) {
	o.s.safely(plugin.InWrite, "the report of pod "+pod.Key(), func() { o.Outlet.NominationCleared(pod) })
}
