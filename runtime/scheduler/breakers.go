package scheduler

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// ReleasePlugin tells that a plugin works again, has changed or is gone: pods that
// it rejected or gates are tried again.
func (s *Scheduler) ReleasePlugin(name string) { s.post(func() { s.queue.Release(name) }) }

// retries returns when plugins that are left alone are tried again, for those whose
// pods were not released yet.
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

// retryPlugins releases the pods of plugins whose time has come: a pod that only
// such a plugin holds back would never call it again.
func (s *Scheduler) retryPlugins() {
	now := s.deps.Clock.Now()
	for breaker, at := range s.retries() {
		if !now.Before(at) {
			s.retried[breaker] = at
			s.queue.Release(breaker.Info().Name)
		}
	}
}
