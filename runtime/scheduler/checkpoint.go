package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/state"
)

// checkpoint tells the recorder of all that the loop carries on, as events that Handle restores it from.
func (s *Scheduler) checkpoint(now time.Time) {
	s.checkpointCluster(now)
	s.enter(&inbox.Carried{Sequence: s.sequence, Evictions: s.evictions, Rotation: uint64(s.cycle.Rotation()), Flushed: s.queue.Flushed()})
	for _, p := range s.deps.Pipelines {
		for _, b := range p.Breakers() {
			if carried := b.Carried(s.released(b)); carried != nil {
				s.enter(&inbox.Breaker{Profile: p.Profile(), Plugin: b.Info().Name, Carried: carried})
			}
		}
	}
	s.checkpointQueue()
	s.checkpointInFlight()
	s.checkpointPreemptions()
	s.checkpointDebts()
	s.checkpointBudgets()
	s.checkpointTurns()
}

func (s *Scheduler) checkpointCluster(now time.Time) {
	s.enter(&inbox.Clock{At: now})
	for info := range s.cache.Namespaces() {
		s.enter(&inbox.Namespace{Namespace: info.Namespace})
	}
	if s.deps.Objects != nil {
		for _, object := range s.deps.Objects.All() {
			s.enter(&inbox.Object{Object: object, Early: true})
		}
	}
	if feeds := slices.Collect(s.cache.Feeds()); len(feeds) > 0 {
		s.enter(&inbox.Feeds{Changed: feeds})
	}
	for info := range s.cache.Nodes() {
		if info.Node != nil {
			s.enter(&inbox.Node{Node: info.Node})
		}
	}
	for info := range s.cache.Nodes() {
		var pods []*state.Pod // between two that are assumed
		for i := range info.Pods {
			pod := info.Pods[i].Pod.Scheduled()
			if !s.cache.IsAssumed(pod.UID) {
				pods = append(pods, pod)
				continue
			}
			if len(pods) > 0 {
				s.enter(&inbox.Pods{Pods: pods})
				pods = nil
			}
			s.enter(&inbox.Assumed{Pod: pod, Patch: s.cache.Patched(pod.UID)})
		}
		if len(pods) > 0 {
			s.enter(&inbox.Pods{Pods: pods})
		}
	}
}

func (s *Scheduler) checkpointQueue() {
	for place, p := range s.queue.All() {
		c, own := s.queue.Carried(p.Pod.UID), *p // the queue changes its own
		s.enter(&inbox.Queued{Pod: &own, Place: place.String(), Failed: c.Failed, Latest: c.Latest, Since: c.Since})
		if !c.Flushed.IsZero() {
			s.enter(&inbox.Leftover{UID: own.Pod.UID, At: c.Flushed})
		}
	}
	for event, object := range s.queue.Missed() {
		s.enter(&inbox.Missed{Event: event, Object: object})
	}
	s.queue.Nominations().Nodes(func(node string, pods []*state.Pod) bool {
		for _, pod := range pods {
			s.enter(&inbox.Nominated{UID: pod.UID, Node: node})
		}
		return true
	})
}

// checkpointInFlight tells of the pods that wait, and of those whose binding cycle runs.
func (s *Scheduler) checkpointInFlight() {
	for _, w := range s.waiting {
		e := s.inFlight(w.pod, w.binding, w.binding.Placement.Patch)
		for _, p := range w.plugins {
			e.Waits = append(e.Waits, inbox.Wait{Plugin: p.plugin, Timeout: p.timeout, Deadline: p.deadline})
		}
		s.enter(e)
	}
	for _, attempt := range slices.Sorted(maps.Keys(s.binding)) {
		r := s.binding[attempt]
		s.enter(s.inFlight(r.pod, r.binding, r.patch))
	}
	for _, p := range s.deps.Pipelines {
		if kept := p.Carried(); len(kept) > 0 {
			s.enter(&inbox.Kept{Profile: p.Profile(), Kept: kept})
		}
	}
}

// inFlight describes a pod in flight, with what its plugins had patched when its binding cycle began.
func (s *Scheduler) inFlight(pod *state.QueuedPod, b *pipeline.Binding, patch state.Patch) *inbox.InFlight {
	pl := &b.Placement
	e := &inbox.InFlight{
		UID: b.Try.Pod.UID, Attempt: b.Try.Sequence, Try: uint64(b.Try.Number), First: b.Try.First, Flushed: b.Try.Flushed,
		Node: pl.Node.Name, Seed: pl.Seed, Patch: patch, Retry: pl.State.Retry(), Kept: b.Carried(),
	}
	if known, _ := s.queue.Get(e.UID); known == nil || known != pod {
		e.Pod = b.Try.Pod
	}
	if s.node(pl.Node.Name) != pl.Node {
		e.NodeObject = pl.Node
	}
	switch namespace := s.Namespace(b.Try.Pod.Namespace); {
	case pl.Namespace == nil:
		e.Unnamed = true
	case namespace != pl.Namespace:
		e.Namespace = pl.Namespace
	}
	if pl.Info != nil && b.UnreserveReadsNode() {
		e.Feeds, e.Cells = pl.Info.Feeds, pl.Info.Cells
		for i := range pl.Info.Pods {
			e.Beside = append(e.Beside, pl.Info.Pods[i].Pod.Scheduled())
		}
		for i := range pl.Info.Nominated {
			e.Nominated = append(e.Nominated, pl.Info.Nominated[i].Pod)
		}
	}
	return e
}

// checkpointPreemptions tells of the preemptions that have not finished.
func (s *Scheduler) checkpointPreemptions() {
	running := make(map[*preemption]map[uint64]int)
	for _, e := range s.preempting {
		running[e] = nil
	}
	for number, r := range s.evicting {
		if running[r.preemption] == nil {
			running[r.preemption] = make(map[uint64]int)
		}
		running[r.preemption][number] = slices.Index(r.preemption.victims, r.victim)
	}
	all := slices.SortedFunc(maps.Keys(running), func(a, b *preemption) int {
		return cmp.Or(cmp.Compare(a.preemptor.UID, b.preemptor.UID), cmp.Compare(first(running[a]), first(running[b])))
	})
	for _, e := range all {
		out := &inbox.Preempting{
			By: e.by, Node: e.node, Preemptor: inbox.Preemptor{Ref: refOf(e.preemptor), NamespaceOwes: e.namespaceOwes, PodOwes: e.podOwes},
			Begun: uint64(e.begun), Running: running[e],
			Failed: e.failed, Replaced: s.preempting[e.preemptor.UID] != e,
		}
		for _, victim := range e.victims {
			out.Victims = append(out.Victims, refOf(victim))
		}
		s.enter(out)
	}
}

// first returns the smallest number.
func first(running map[uint64]int) (least uint64) {
	for number := range running {
		if least == 0 || number < least {
			least = number
		}
	}
	return least
}

func refOf(pod *state.Pod) inbox.Ref {
	return inbox.Ref{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}
}
