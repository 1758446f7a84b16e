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
	byDigest map[string]*sharedModule
}

// sharedModule is a module that others share.
type sharedModule struct {
	first *module.Loaded
	// judged is true if objects were judged since it was fetched last. Until then no plugin has it.
	judged bool
}

// share returns a module that has what depends on its bytes alone in common with others.
func (s *shared) share(l *module.Loaded) *module.Loaded {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byDigest == nil {
		s.byDigest = make(map[string]*sharedModule)
	}
	m := s.byDigest[l.Digest]
	if m == nil {
		s.byDigest[l.Digest] = &sharedModule{first: l}
		return l
	}
	m.judged = false
	l.Share(m.first)
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
	maps.DeleteFunc(s.byDigest, func(digest string, m *sharedModule) bool { return m.judged && !used[digest] })
	for _, m := range s.byDigest {
		m.judged = true
	}
}
