package scheduler

import (
	"context"
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Do calls a function between two tries, where it may use what must not be used
// while Run runs, and returns when it has.
//
// # Errors
//
// The context ended before. The function may be called later nevertheless.
func (s *Scheduler) Do(ctx context.Context, call func()) error {
	done := make(chan struct{})
	s.post(func() {
		defer close(done)
		call()
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// post puts a call into the inbox; the loop makes it before its next try.
func (s *Scheduler) post(call func()) {
	s.inbox.mu.Lock()
	s.inbox.calls, s.inbox.pods = append(s.inbox.calls, call), nil
	s.inbox.mu.Unlock()
	s.wake()
}

// postPods puts pods into the inbox. Those that come one after the other with
// nothing else in between are taken in by one call, as a watch tells of each pod on
// its own and plugins gate batches.
func (s *Scheduler) postPods(pods []*state.Pod) {
	s.inbox.mu.Lock()
	if batch := s.inbox.pods; batch != nil {
		*batch = append(*batch, pods...)
	} else {
		batch := slices.Clone(pods)
		s.inbox.pods = &batch
		s.inbox.calls = append(s.inbox.calls, func() { s.setPods(batch) })
	}
	s.inbox.mu.Unlock()
	s.wake()
}

func (s *Scheduler) wake() {
	select {
	case s.inbox.wake <- struct{}{}:
	default:
	}
}

// drain makes the calls in the inbox and reports whether there were any. Those
// that come meanwhile wait for the next time, so that a stream of events cannot
// keep pods from being tried.
func (s *Scheduler) drain() (any bool) {
	s.inbox.mu.Lock()
	calls := s.inbox.calls
	s.inbox.calls, s.inbox.pods = nil, nil
	s.inbox.mu.Unlock()
	for _, call := range calls {
		call()
	}
	s.tellWork() // this is what the loop does last before it sleeps
	return len(calls) > 0
}
