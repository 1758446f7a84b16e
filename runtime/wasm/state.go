package wasm

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// guestState is a plugin's bytes in a CycleState (ABI-7.4).
type guestState struct {
	values map[string][]byte
	size   int
	most   int             // 0 means the ABI's limit
	public map[string]bool // keys that others may read
	owner  *core
	// waits says that the pod waits at Permit or is being bound. kept is the size that counts since
	// then, added what has come since.
	waits       bool
	kept, added int
	// atPermit has the values when Permit ended. The loop may read them while a binding cycle changes others.
	atPermit map[string][]byte
	changed  bool // since then
}

var _ state.Kept = (*guestState)(nil)

// stateKey is the key of a plugin's bytes in a CycleState.
const stateKey = "guest"

// stateOf returns the plugin's state of a pod's cycle. If nothing was written yet, it makes
// one if create is true, or else returns nil.
func (c *core) stateOf(of *state.CycleState, create bool) *guestState {
	owner := cmp.Or(c.config.Publishes, c.config.Name)
	if v := of.Read(owner, stateKey); v != nil {
		return v.(*guestState)
	}
	if !create {
		return nil
	}
	v := &guestState{public: c.public, most: c.config.Limits.StateSize, owner: c}
	of.Write(owner, stateKey, v)
	return v
}

// Keep implements state.Kept. A guest cannot make the scheduler keep more by waiting with more pods.
func (s *guestState) Keep() error {
	if most, ok := s.owner.budget.KeepState(s.size); !ok {
		f := s.owner.keepsTooMuch(abi.Permit, most)
		if !s.owner.full.Swap(true) { // the next pods fail for the same reason
			s.owner.faults.status(f)
		}
		return f
	}
	s.owner.full.Store(false)
	s.waits, s.kept, s.atPermit = true, s.size, s.values
	return nil
}

// keepsTooMuch is the fault of a plugin that has no room for what it would keep for one more pod.
func (c *core) keepsTooMuch(point abi.Point, most int64) *fault.Fault {
	f := c.faults.at(point, fault.NoMemory, fmt.Sprintf("the state and patches of pods that wait or are being bound would have more than %d bytes: "+
		"write less, let fewer pods wait, or raise limits.memoryTotal", most), nil)
	c.counts.fault(point, f)
	return f
}

// Drop implements state.Kept.
func (s *guestState) Drop() {
	s.owner.budget.DropState(s.kept, s.added)
	s.waits, s.kept, s.added, s.atPermit, s.changed = false, 0, 0, nil, false
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
	if more := size - s.kept - s.added; s.waits && more > 0 {
		if _, ok := s.owner.budget.AddState(more); !ok {
			return false
		}
		s.added += more
	}
	switch {
	case s.values == nil:
		s.values = make(map[string][]byte)
	case s.waits && !s.changed:
		s.values = maps.Clone(s.values)
	}
	s.changed = s.waits
	s.values[key] = append([]byte(nil), value...)
	s.size = size
	return true
}
