package scheduler

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// ReleasePlugin says that a plugin works again, has changed or was removed: the pods that it
// rejected or gates are retried.
func (s *Scheduler) ReleasePlugin(name string) { s.post(func() { s.queue.Release(name) }) }

// retries returns when plugins with open breakers are retried, for those whose pods were not
// released yet.
func (s *Scheduler) retries() map[plugin.Breaker]time.Time {
	var out map[plugin.Breaker]time.Time
	for _, p := range s.deps.Pipelines {
		for _, b := range p.Breakers() {
			if at, ok := b.RetryAt(); ok && !s.retried[b].Equal(at) {
				if out == nil {
					out = make(map[plugin.Breaker]time.Time)
				}
				out[b] = at
			}
		}
	}
	return out
}

// retryPlugins releases the pods of plugins that are due: a pod that is held back only by such
// a plugin would otherwise never call it again.
func (s *Scheduler) retryPlugins() {
	now := s.deps.Clock.Now()
	for breaker, at := range s.retries() {
		if !now.Before(at) {
			s.retried[breaker] = at
			s.queue.Release(breaker.Info().Name)
		}
	}
}
