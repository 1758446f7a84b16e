package scheduler

import (
	"context"
	"iter"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Cached yields the pods in the cache and whether they are assumed.
func (s *Scheduler) Cached() iter.Seq2[*state.Pod, bool] { return s.cache.Pods() }

// Snapshot returns what the last attempt saw.
func (s *Scheduler) Snapshot() *state.Snapshot { return s.snapshot }

// Nominations returns the nominated pods.
func (s *Scheduler) Nominations() state.Nominations { return s.queue.Nominations() }

// Sleep waits as Run does when there is nothing to do.
func (s *Scheduler) Sleep(ctx context.Context) { s.sleep(ctx) }

// MissedBytes returns the size of the events that are kept for pods in flight.
func (s *Scheduler) MissedBytes() int { return s.queue.MissedBytes() }

// CheckIdle counts what is left in a scheduler that has nothing to do.
func (s *Scheduler) CheckIdle() (waiting, binding, evicting, calls, events int) {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	return len(s.waiting), len(s.binding), len(s.evicting), len(s.inbox.events), s.queue.InFlightEvents()
}
