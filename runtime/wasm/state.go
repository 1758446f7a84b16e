package wasm

import (
	"cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// stateKey is the key of a plugin's bytes in a CycleState.
const stateKey = "guest"

// guestState is a plugin's bytes in a CycleState (ABI-7.4).
type guestState struct {
	values map[string][]byte
	size   int
	most   int             // 0 means the ABI's limit
	public map[string]bool // keys that others may read
}

var _ state.Value = (*guestState)(nil)

// stateOf returns the plugin's state of a pod's cycle. If nothing was written yet, it makes
// one if create is true, or else returns nil.
func (t *traits) stateOf(c *state.CycleState, create bool) *guestState {
	owner := cmp.Or(t.config.Publishes, t.config.Name)
	if v := c.Read(owner, stateKey); v != nil {
		return v.(*guestState)
	}
	if !create {
		return nil
	}
	v := &guestState{public: t.public, most: t.config.Limits.StateSize}
	c.Write(owner, stateKey, v)
	return v
}

// Clone implements state.Value. The clone shares the values, since none is changed in
// place.
func (s *guestState) Clone() state.Value {
	c := &guestState{values: make(map[string][]byte, len(s.values)), size: s.size, most: s.most, public: s.public}
	for k, v := range s.values {
		c.values[k] = v
	}
	return c
}

// set sets the value of a key, and reports whether that is within the limits (ABI-10).
func (s *guestState) set(key string, value []byte) bool {
	old, known := s.values[key]
	size := s.size - len(old) + len(value)
	if !known {
		size += len(key)
	}
	switch {
	case len(key) > abi.MaxStateKeySize, len(value) > abi.MaxStateValue, size > cmp.Or(s.most, abi.MaxStateSize),
		!known && len(s.values) == abi.MaxStateKeys:
		return false
	}
	if s.values == nil {
		s.values = make(map[string][]byte)
	}
	s.values[key] = append([]byte(nil), value...)
	s.size = size
	return true
}
