package scheduler

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// restore handles what checkpoint writes and others do not.
func (s *Scheduler) restore(ctx context.Context, e inbox.Event) {
	var err error
	switch e := e.(type) {
	case *inbox.Assumed:
		err = s.cache.Restore(e.Pod, e.Patch)
	case *inbox.Carried:
		s.sequence, s.evictions = e.Sequence, e.Evictions
		s.cycle.Resume(int(e.Rotation))
		s.queue.Resume(e.Flushed)
	case *inbox.Breaker:
		err = s.resume(e)
	case *inbox.Queued:
		s.queue.Delete(e.Pod.Pod.UID) // one that waits for a resize is queued since its node has it
		s.queue.Restore(*e.Pod, queue.ParsePlace(e.Place), queue.Carried{Failed: e.Failed, Latest: e.Latest, Since: e.Since})
	case *inbox.Leftover:
		s.queue.Leftover(e.UID, e.At)
	case *inbox.Missed:
		s.queue.Miss(e.Event, e.Object)
	case *inbox.Nominated:
		s.queue.Nominate(e.UID, e.Node)
	case *inbox.InFlight:
		err = s.resumeInFlight(ctx, e)
	case *inbox.Kept:
		if p := s.pipelines[e.Profile]; p == nil {
			err = fmt.Errorf("there is no profile %q", e.Profile)
		} else {
			err = p.Resume(e.Kept)
		}
	case *inbox.Preempting:
		s.resumePreemption(ctx, e)
	case *inbox.Debt:
		s.resumeDebt(e)
	case *inbox.Budget:
		s.resumeBudget(e)
	default:
		panic(fmt.Sprintf("BUG: a %T is not for the loop", e))
	}
	if err != nil {
		panic(fmt.Sprintf("BUG: a %T of a checkpoint: %v", e, err))
	}
}

// resumeInFlight restores a pod that waits, or whose binding cycle runs.
func (s *Scheduler) resumeInFlight(ctx context.Context, e *inbox.InFlight) error {
	queued, _ := s.queue.Get(e.UID)
	if e.Pod != nil { // the queue does not have it
		queued = &state.QueuedPod{Pod: e.Pod}
	}
	if queued == nil {
		return fmt.Errorf("the queue does not have pod %s", e.UID)
	}
	pod := queued.Pod
	p := s.pipelines[pod.Profile]
	node := e.NodeObject
	if node == nil {
		node = s.node(e.Node)
	}
	if p == nil || node == nil {
		return fmt.Errorf("pod %s has no profile %q or no node %q", pod.Key(), pod.Profile, e.Node)
	}
	placement := plugin.Placement{Context: ctx, Pod: pod.On(e.Node, state.Patch{}), Node: node, State: &state.CycleState{}, Seed: e.Seed, Namespace: e.Namespace}
	placement.State.RetryAfter(e.Retry.Plugin, e.Retry.After)
	if e.Namespace == nil && !e.Unnamed {
		placement.Namespace = s.Namespace(pod.Namespace)
	}
	if p.WantsNodeInfo() {
		placement.Info = &state.NodeInfo{Name: e.Node, Node: node, Feeds: e.Feeds, Cells: e.Cells}
		for _, other := range e.Beside {
			placement.Info.AddPod(state.PlacedPod{Pod: other})
		}
		for _, other := range e.Nominated {
			placement.Info.Nominated = append(placement.Info.Nominated, state.PlacedPod{Pod: other})
		}
	}
	b := p.NewBinding(placement, pipeline.Try{
		Pod: pod, Sequence: e.Attempt, Number: int(e.Try), First: e.First, Watch: clock.Start(), Flushed: e.Flushed,
	})
	if !e.Patch.Empty() {
		b.Placement.Pod, b.Placement.Patch = b.Placement.Pod.On(e.Node, e.Patch), e.Patch
	}
	if err := b.Resume(e.Kept); err != nil {
		return fmt.Errorf("pod %s: %w", pod.Key(), err)
	}
	if len(e.Waits) == 0 {
		if e.Pod != nil {
			queued = nil
		}
		s.binding[e.Attempt] = running{queued, b, e.Patch}
		return nil
	}
	w := &waiting{pod: queued, binding: b, watch: clock.Start()}
	for _, p := range e.Waits {
		w.plugins = append(w.plugins, waitingFor{plugin: p.Plugin, timeout: p.Timeout, deadline: p.Deadline})
	}
	s.waiting = append(s.waiting, w)
	s.publishWaiting()
	return nil
}

// resumePreemption restores a preemption. Its evictions run elsewhere.
func (s *Scheduler) resumePreemption(ctx context.Context, e *inbox.Preempting) {
	p := &preemption{by: e.By, preemptor: podOf(e.Preemptor.Ref), node: e.Node, begun: int(e.Begun), running: len(e.Running), failed: e.Failed}
	p.namespaceOwes, p.podOwes = e.Preemptor.NamespaceOwes, e.Preemptor.PodOwes
	for _, victim := range e.Victims {
		p.victims = append(p.victims, podOf(victim))
	}
	p.context, p.cancel = context.WithCancel(ctx)
	for number, victim := range e.Running {
		s.evicting[number] = evicting{p, p.victims[victim]}
	}
	if !e.Replaced {
		s.preempting[p.preemptor.UID] = p
	}
}

// podOf returns as much of a pod as a preemption needs.
func podOf(r inbox.Ref) *state.Pod {
	return state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: r.UID, Namespace: r.Namespace, Name: r.Name}})
}
