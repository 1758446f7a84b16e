package scheduler

import (
	"slices"
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

const (
	// holdFor is how long no pod is tried so that what runs beside the loop can end.
	holdFor = 200 * time.Millisecond
	// holdAgain is the time until the next try, if that was not enough.
	holdAgain = time.Minute
)

// segment begins a new segment of the recording, if it is time to. That is possible only while no pod is in
// flight with plugins that were replaced, or cannot say what they keep for it. So it may hold: then no pod is to be
// tried for a moment.
func (s *Scheduler) segment() (hold bool) {
	r, ok := s.deps.Recorder.(inbox.Segmented)
	if !ok || !r.Full() {
		return false
	}
	now := s.deps.Clock.Now()
	if s.carriable() {
		s.heldUntil, s.heldAgain = time.Time{}, time.Time{}
		r.Begin()
		s.cycle.Forget() // a replay of the segment has no answers from before
		clear(s.hinted)
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

// carriable reports whether a checkpoint can have all that the loop carries on.
func (s *Scheduler) carriable() bool {
	s.drainRetired()
	if len(s.retired) > 0 {
		return false
	}
	for _, r := range s.binding {
		if !r.binding.Carriable() {
			return false
		}
	}
	return !slices.ContainsFunc(s.waiting, func(w *waiting) bool { return !w.binding.Carriable() })
}
