package scheduler

import (
	"context"
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Do calls a function between two attempts and waits for it. The function may use what must not
// be used while Run runs.
//
// # Errors
//
// The context ended first. The function may still be called later.
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

// post adds a call to the inbox; the loop makes it before its next attempt.
func (s *Scheduler) post(call func()) {
	s.inbox.mu.Lock()
	s.inbox.calls, s.inbox.pods = append(s.inbox.calls, call), nil
	s.inbox.mu.Unlock()
	s.wake()
}

// postPods adds pods to the inbox. Consecutive pods are handled by one call, because a watch
// delivers pods one by one but plugins gate batches.
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

// drain makes the calls in the inbox and reports whether there were any. New calls wait for the
// next drain, so that a stream of events does not block attempts.
func (s *Scheduler) drain() (any bool) {
	s.inbox.mu.Lock()
	calls := s.inbox.calls
	s.inbox.calls, s.inbox.pods = nil, nil
	s.inbox.mu.Unlock()
	for _, call := range calls {
		call()
	}
	s.tellWork() // drain is the last step of the loop before it sleeps
	return len(calls) > 0
}
