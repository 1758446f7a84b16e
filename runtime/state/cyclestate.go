package state

import (
	"slices"
	"sync"
)

// Value is what a plugin stores in a CycleState between two points of one cycle. Clone returns
// a copy that what-if calls may change; a value that is never changed may return itself.
type Value interface{ Clone() Value }

// CycleState has the values that plugins store during one scheduling and binding cycle, by
// (plugin, key). It is safe for concurrent use: in Filter and Score, workers may be in different
// plugins, one of which writes a value of its own while another reads.
type CycleState struct {
	mu      sync.RWMutex
	entries []entry
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

// Reset removes all values.
func (s *CycleState) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.entries)
	s.entries = s.entries[:0]
}
