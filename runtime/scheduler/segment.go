package scheduler

import (
	"fmt"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

const (
	// holdFor is how long no pod is tried so that what runs beside the loop can end.
	holdFor = 200 * time.Millisecond
	// holdAgain is the time until the next try, if that was not enough.
	holdAgain = time.Minute
)

// segment begins a new segment of the recording, if it is time to. That is possible only while nothing is
// under way that has no encoding: no pod is assumed, waits at Permit, or is preempting others. So it may
// hold: then no pod is to be tried for a moment.
func (s *Scheduler) segment() (hold bool) {
	r, ok := s.deps.Recorder.(inbox.Segmented)
	if !ok || !r.Full() {
		return false
	}
	now := s.deps.Clock.Now()
	if s.quiet() {
		s.heldUntil, s.heldAgain = time.Time{}, time.Time{}
		r.Begin()
		s.cycle.Forget() // a replay of the segment has no answers from before
		s.checkpoint(now)
		return false
	}
	if s.heldUntil.IsZero() && !now.Before(s.heldAgain) {
		s.heldUntil, s.heldAgain = s.deps.Clock.Read().Add(holdFor), now.Add(holdAgain)
	}
	if hold = s.deps.Clock.Read().Before(s.heldUntil); !hold {
		s.heldUntil = time.Time{}
	}
	return hold
}

// quiet reports whether a checkpoint has all that the loop carries on.
func (s *Scheduler) quiet() bool {
	p := s.queue.Pending()
	return len(s.waiting)+len(s.binding)+len(s.evicting)+len(s.preempting)+len(s.retired)+p.InFlight+p.Binding+s.cache.Counts().Assumed == 0
}

// checkpoint tells the recorder of all that the loop carries on, as events that Handle restores it from.
func (s *Scheduler) checkpoint(now time.Time) {
	r := s.deps.Recorder
	r.Enter(&inbox.Clock{At: now})
	for info := range s.cache.Namespaces() {
		r.Enter(&inbox.Namespace{Namespace: info.Namespace})
	}
	if s.deps.Objects != nil {
		for _, object := range s.deps.Objects.All() {
			r.Enter(&inbox.Object{Object: object, Early: true})
		}
	}
	for info := range s.cache.Nodes() {
		if info.Node != nil {
			r.Enter(&inbox.Node{Node: info.Node})
		}
	}
	for info := range s.cache.Nodes() {
		pods := make([]*state.Pod, 0, len(info.Pods))
		for i := range info.Pods {
			pods = append(pods, info.Pods[i].Pod)
		}
		if len(pods) > 0 {
			r.Enter(&inbox.Pods{Pods: pods})
		}
	}
	r.Enter(&inbox.Carried{Sequence: s.sequence, Evictions: s.evictions, Rotation: uint64(s.cycle.Rotation()), Flushed: s.queue.Flushed()})
	for _, p := range s.deps.Pipelines {
		for _, b := range p.Breakers() {
			if carried := b.Carried(); carried != nil {
				r.Enter(&inbox.Breaker{Profile: p.Profile(), Plugin: b.Info().Name, Carried: carried, Released: s.retried[b]})
			}
		}
	}
	for place, p := range s.queue.All() {
		r.Enter(&inbox.Queued{Pod: p, Place: place.String(), Failed: s.queue.Failed(p.Pod.UID)})
	}
	s.queue.Nominations().Nodes(func(node string, pods []*state.Pod) bool {
		for _, pod := range pods {
			r.Enter(&inbox.Nominated{UID: pod.UID, Node: node})
		}
		return true
	})
}

// restore handles what checkpoint writes and others do not.
func (s *Scheduler) restore(e inbox.Event) {
	switch e := e.(type) {
	case *inbox.Carried:
		s.sequence, s.evictions = e.Sequence, e.Evictions
		s.cycle.Resume(int(e.Rotation))
		s.queue.Resume(e.Flushed)
	case *inbox.Breaker:
		s.resume(e)
	case *inbox.Queued:
		s.queue.Restore(*e.Pod, queue.ParsePlace(e.Place), e.Failed)
	case *inbox.Nominated:
		s.queue.Nominate(e.UID, e.Node)
	default:
		panic(fmt.Sprintf("BUG: a %T is not for the loop", e))
	}
}

// resume restores a breaker.
func (s *Scheduler) resume(e *inbox.Breaker) {
	p := s.pipelines[e.Profile]
	if p == nil {
		panic(fmt.Sprintf("BUG: a breaker of the profile %q", e.Profile))
	}
	for _, b := range p.Breakers() {
		if b.Info().Name != e.Plugin {
			continue
		}
		if err := b.Resume(e.Carried); err != nil {
			panic(fmt.Sprintf("BUG: the breaker of %s cannot be restored: %v", e.Plugin, err))
		}
		if !e.Released.IsZero() {
			s.retried[b] = e.Released
		}
	}
}
