package scheduler

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Do calls a function between two attempts and waits for it. The function may read what must not
// be read while Run runs, and must not change the scheduler.
//
// # Errors
//
// The context ended first: the function may still be called later. The function panicked, the loop is broken, or Run has ended.
func (s *Scheduler) Do(ctx context.Context, call func()) error {
	done := make(chan struct{})
	var failed error
	s.post(&inbox.Inspect{Call: func() {
		defer close(done)
		if failed = s.broken; failed == nil {
			failed = plugin.Guard(plugin.InQuestion, "a question", s.deps.Panicked, call)
		}
	}})
	select {
	case <-done:
		return failed
	case <-s.ended: // nobody handles what enters
		return cmp.Or(s.broken, errEnded)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errEnded is the answer of a scheduler that has stopped.
var errEnded = errors.New("the scheduler has stopped")

// endQuestions ends those that wait for an answer. It is called where the loop runs.
func (s *Scheduler) endQuestions() {
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
}

// post adds an event to the inbox; the loop handles it before its next attempt.
func (s *Scheduler) post(e inbox.Event) {
	s.inbox.mu.Lock()
	s.inbox.events = append(s.inbox.events, e)
	s.inbox.mu.Unlock()
	s.wake()
}

// postPods adds pods to the inbox. Consecutive pods are one event, because a watch delivers pods
// one by one but plugins gate batches.
func (s *Scheduler) postPods(pods []*state.Pod) {
	s.inbox.mu.Lock()
	if n := len(s.inbox.events); n > 0 {
		if last, ok := s.inbox.events[n-1].(*inbox.Pods); ok {
			last.Pods = append(last.Pods, pods...)
			s.inbox.mu.Unlock()
			s.wake()
			return
		}
	}
	s.inbox.events = append(s.inbox.events, &inbox.Pods{Pods: slices.Clone(pods)})
	s.inbox.mu.Unlock()
	s.wake()
}

func (s *Scheduler) wake() {
	select {
	case s.inbox.wake <- struct{}{}:
	default:
	}
}

// drain handles the events in the inbox and reports whether there were any. New events wait for
// the next drain, so that a stream of events does not block attempts.
func (s *Scheduler) drain(ctx context.Context) (any bool) {
	s.inbox.mu.Lock()
	events := s.inbox.events
	s.inbox.events = nil
	s.inbox.mu.Unlock()
	if len(events) > 0 {
		s.readClock(ctx)
	}
	for _, e := range events {
		s.Handle(ctx, e)
		s.forget(ctx)
		s.chargeStarts(ctx)
	}
	if s.broken == nil {
		s.tellWork() // drain is the last step of the loop before it sleeps
	}
	return len(events) > 0
}

// maxMissed is how many bytes of events the queue keeps for pods in flight: those that wait at Permit.
const maxMissed = 32 << 20

// forget forgets these events if there are too many. It is an event itself: a recording has smaller objects, so a replay could not
// tell when.
func (s *Scheduler) forget(ctx context.Context) {
	if size := s.queue.MissedBytes(); size > maxMissed && s.broken == nil {
		s.deps.Log.Warn("events for pods that wait at Permit are forgotten: these pods will be retried if they are rejected",
			"events", s.queue.InFlightEvents(), "bytes", size)
		s.Handle(ctx, &inbox.Raise{Event: state.EventForgotten()})
	}
}

// readClock lets the time of the loop advance.
func (s *Scheduler) readClock(ctx context.Context) {
	if at := s.deps.Clock.Read(); !at.Equal(s.deps.Clock.Now()) {
		s.Handle(ctx, &inbox.Clock{At: at})
	}
}

// enter informs the recorder.
func (s *Scheduler) enter(e inbox.Event) {
	if s.deps.Recorder != nil {
		s.deps.Recorder.Enter(e)
	}
}

// Handle handles one event, and reports whether it was a Step that found a pod to try. Run, Step
// and Standby call it for all that enters the loop; a replay calls it instead of them.
func (s *Scheduler) Handle(ctx context.Context, e inbox.Event) (tried bool) {
	if inspect, ok := e.(*inbox.Inspect); ok {
		inspect.Call()
		return false
	}
	if s.broken != nil {
		s.afterwards(e)
		return false
	}
	s.enter(e)
	s.subject = nil
	defer s.breaks()
	switch e := e.(type) {
	case *inbox.Clock:
		s.deps.Clock.Hold(e.At)
	case *inbox.Step:
		tried = s.turn(ctx)
	case *inbox.Node:
		s.subject = e.Node.Object
		s.setNode(e.Node)
	case *inbox.NodeGone:
		s.deleteNode(e.Name)
	case *inbox.Namespace:
		s.setNamespace(e.Namespace)
	case *inbox.NamespaceGone:
		s.deleteNamespace(e.Name)
	case *inbox.Pods:
		s.setPods(e.Pods)
	case *inbox.PodGone:
		s.deletePod(e.UID)
	case *inbox.Object:
		s.subject = e.Object
		watch := clock.Start()
		if event, object, ok := s.deps.Objects.Change(e.Object, false); ok && !e.Early {
			s.move(event, object, watch.Elapsed())
		}
	case *inbox.ObjectGone:
		s.subject = e.Object
		watch := clock.Start()
		if event, object, ok := s.deps.Objects.Change(e.Object, true); ok {
			s.move(event, object, watch.Elapsed())
		}
	case *inbox.Written:
		s.subject = e.Claim
		watch := clock.Start()
		if event, object, ok := s.deps.Objects.Written(e.Claim); ok {
			s.move(event, object, watch.Elapsed())
		}
	case *inbox.Feeds:
		s.setFeeds(e.Changed)
	case *inbox.Raise:
		if e.Event == state.EventForgotten() {
			s.queue.Forget()
			break
		}
		s.move(e.Event, e.Object, 0)
	case *inbox.Activate:
		s.queue.Activate(e.UIDs)
	case *inbox.Allow:
		s.allow(e.UID, e.Plugin)
	case *inbox.Reject:
		s.reject(e.UID, plugin.NewStatus(abi.Unschedulable, e.Reason).By(e.Plugin))
	case *inbox.Release:
		s.queue.Release(e.Plugin)
	case *inbox.Start:
		s.charge(e)
	case *inbox.Turn:
		s.queue.Charge(e.Namespace, e.Cost)
	case *inbox.Forgive:
		s.forgive(e)
	case *inbox.Swap:
		s.swap()
	case *inbox.Bound:
		s.bound(e)
	case *inbox.Evicted:
		var err error
		if e.Err != "" {
			err = errors.New(e.Err)
		}
		s.evicted(e.Eviction, e.Stopped, err)
	default:
		s.restore(ctx, e)
	}
	s.endNominations()
	clear(s.causes)
	return tried
}

// turn ends waits that are due, moves pods whose backoff is over, and tries the next pod. It
// reports whether there was one.
func (s *Scheduler) turn(ctx context.Context) bool {
	s.expire()
	s.expireNominations()
	s.retryPlugins()
	s.decay()
	s.takeTurns()
	if len(s.retired) > 0 {
		s.drainRetired()
	}
	s.queue.Tick()
	pod, ok := s.queue.Pop()
	if ok {
		s.try(ctx, pod)
	}
	return ok
}
