package follow

import (
	"maps"
	"sync"

	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// shared has the bytes of modules once, however many plugins are made of them.
type shared struct {
	mu       sync.Mutex
	byDigest map[string]*module.Loaded
}

// share returns a module that has what depends on its bytes alone in common with others.
func (s *shared) share(l *module.Loaded) *module.Loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.byDigest[l.Digest]
	if first == nil {
		if s.byDigest == nil {
			s.byDigest = make(map[string]*module.Loaded)
		}
		s.byDigest[l.Digest] = l
		return l
	}
	l.Share(first)
	return l
}

// keep forgets modules that no plugin is made of.
func (s *shared) keep(r *tenancy.Result) {
	used := make(map[string]bool)
	for i := range r.Plugins {
		if m := r.Plugins[i].Module; m != nil {
			used[m.Digest] = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byDigest, func(digest string, _ *module.Loaded) bool { return !used[digest] })
}
