package state

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// Value is what a plugin stores in a CycleState between two points of one cycle. Clone returns
// a copy that what-if calls may change; a value that is never changed may return itself.
type Value interface{ Clone() Value }

// Kept is a Value that counts for as long as its pod waits at Permit or is being bound: there may be
// many such pods at once, and only one in its scheduling cycle.
type Kept interface {
	Value
	// Keep is called when Permit has accepted the pod or made it wait. An error says that there is no
	// room for the value, so that the pod must be tried again later.
	Keep() error
	// Drop is called when the binding has ended, also after an error of Keep.
	Drop()
}

// CycleState has the values that plugins store during one scheduling and binding cycle, by
// (plugin, key). It is safe for concurrent use: in Filter and Score, workers may be in different
// plugins, one of which writes a value of its own while another reads.
type CycleState struct {
	mu      sync.RWMutex
	entries []entry
	retry   Retry
}

// Retry is how soon after a failed attempt a pod is tried again whatever events come (SPEC.md, 5.22), and the plugin that asks for it. The
// zero value leaves it to events.
type Retry struct {
	After  time.Duration `json:"after"`
	Plugin string        `json:"plugin"`
}

// RetryAfter notes that a plugin wants the pod tried again after a time, if this attempt fails. The shortest time counts, and 0 asks for
// nothing.
func (s *CycleState) RetryAfter(plugin string, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after > 0 && (s.retry.After == 0 || after < s.retry.After) {
		s.retry = Retry{After: after, Plugin: plugin}
	}
}

// Retry returns what plugins have asked for with RetryAfter so far.
func (s *CycleState) Retry() Retry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.retry
}

type entry struct {
	plugin, key string
	value       Value
}

// Read returns the value of a key, or nil.
func (s *CycleState) Read(plugin, key string) Value {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range s.entries {
		if e := &s.entries[i]; e.key == key && e.plugin == plugin {
			return e.value
		}
	}
	return nil
}

// Write sets the value of a key; nil deletes it.
func (s *CycleState) Write(plugin, key string, value Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.entries {
		e := &s.entries[i]
		if e.key != key || e.plugin != plugin {
			continue
		}
		if value == nil {
			s.entries = slices.Delete(s.entries, i, i+1)
			return
		}
		e.value = value
		return
	}
	if value != nil {
		s.entries = append(s.entries, entry{plugin: plugin, key: key, value: value})
	}
}

// Clone returns a copy whose values are clones.
func (s *CycleState) Clone() *CycleState {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := &CycleState{entries: make([]entry, len(s.entries))}
	for i, e := range s.entries {
		e.value = e.value.Clone()
		c.entries[i] = e
	}
	return c
}

// Keep keeps the values that count until Drop; s may be nil.
//
// # Errors
//
// Those of Kept.
func (s *CycleState) Keep() error {
	var errs []error
	for _, k := range s.kept() {
		errs = append(errs, k.Keep())
	}
	return errors.Join(errs...)
}

// Drop ends what Keep began.
func (s *CycleState) Drop() {
	for _, k := range s.kept() {
		k.Drop()
	}
}

func (s *CycleState) kept() (out []Kept) {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range s.entries {
		if k, ok := s.entries[i].value.(Kept); ok {
			out = append(out, k)
		}
	}
	return out
}

// Reset removes all values, and what plugins have asked for.
func (s *CycleState) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.entries)
	s.entries, s.retry = s.entries[:0], Retry{}
}
