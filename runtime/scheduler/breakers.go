package scheduler

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// ReleasePlugin says that a plugin works again, has changed or was removed: the pods that it
// rejected or gates are retried.
func (s *Scheduler) ReleasePlugin(name string) { s.post(&inbox.Release{Plugin: name}) }

// retry is when a plugin with an open breaker is retried.
type retry struct {
	breaker plugin.Breaker
	at      time.Time
}

// retries returns when plugins with open breakers are retried, for those whose pods were not
// released yet, in the order of the profiles.
func (s *Scheduler) retries() (out []retry) {
	for _, p := range s.deps.Pipelines {
		for _, b := range p.Breakers() {
			if at, ok := b.RetryAt(); ok && !s.retried[b].Equal(at) {
				out = append(out, retry{b, at})
			}
		}
	}
	return out
}

// retryPlugins releases the pods of plugins that are due: a pod that is held back only by such
// a plugin would otherwise never call it again.
func (s *Scheduler) retryPlugins() {
	now := s.deps.Clock.Now()
	for _, r := range s.retries() {
		if !now.Before(r.at) && !s.retried[r.breaker].Equal(r.at) { // profiles may share a breaker
			s.retried[r.breaker] = r.at
			s.queue.Release(r.breaker.Info().Name)
		}
	}
}
