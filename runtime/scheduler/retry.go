package scheduler

import "time"

// ReleasePlugin tells that a plugin works again, has changed or is gone: pods that
// it rejected or gates are tried again.
func (s *Scheduler) ReleasePlugin(name string) { s.post(func() { s.queue.Release(name) }) }

// retries returns by name when plugins that are left alone are tried again, for
// those whose pods were not released yet.
func (s *Scheduler) retries() map[string]time.Time {
	var out map[string]time.Time
	for _, p := range s.deps.Pipelines {
		for _, b := range p.Breakers() {
			name := b.Info().Name
			if at, ok := b.RetryAt(); ok && !s.retried[name].Equal(at) {
				if out == nil {
					out = make(map[string]time.Time)
				}
				out[name] = at
			}
		}
	}
	return out
}

// retryPlugins releases the pods of plugins whose time has come: a pod that only
// such a plugin holds back would never call it again.
func (s *Scheduler) retryPlugins() {
	now := s.deps.Clock.Now()
	for name, at := range s.retries() {
		if !now.Before(at) {
			s.retried[name] = at
			s.queue.Release(name)
		}
	}
}
