package wasm

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

var _ plugin.Carrier = (*Plugin)(nil)

// carriedState is the plugin's state of a pod's cycle, in a checkpoint.
type carriedState struct {
	Values []carriedValue `json:"values,omitempty"`
	// Kept is true for the state when Permit ended, which counts among those of pods that wait or are being bound.
	Kept bool `json:"kept,omitempty"`
	// Patched is how many bytes patches of reserve hold, by assumed pod; for no pod.
	Patched map[types.UID]int `json:"patched,omitempty"`
}

// carriedValue is a value with its key, either of any bytes.
type carriedValue struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value,omitempty"`
}

// CarriedFor implements plugin.Carrier.
func (p *Plugin) CarriedFor(pl *plugin.Placement) json.RawMessage {
	if pl == nil {
		if len(p.patched) == 0 {
			return nil
		}
		return encodeCarried(&carriedState{Patched: p.patched})
	}
	if s := p.stateOf(pl.State, false); s != nil && len(s.atPermit) > 0 {
		return encodeState(s.atPermit, true)
	}
	return nil
}

// ChangedFor implements plugin.Carrier.
func (p *Plugin) ChangedFor(pl *plugin.Placement) json.RawMessage {
	if s := p.stateOf(pl.State, false); s != nil && (s.changed || !s.waits) {
		return encodeState(s.values, false)
	}
	return nil
}

func encodeState(values map[string][]byte, kept bool) json.RawMessage {
	c := carriedState{Kept: kept}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		c.Values = append(c.Values, carriedValue{Key: []byte(key), Value: values[key]})
	}
	return encodeCarried(&c)
}

func encodeCarried(c *carriedState) json.RawMessage {
	data, err := json.Marshal(c)
	if err != nil {
		panic("BUG: state cannot be encoded: " + err.Error())
	}
	return data
}

// ResumeFor implements plugin.Carrier.
func (p *Plugin) ResumeFor(pl *plugin.Placement, carried json.RawMessage) error {
	var c carriedState
	if err := json.Unmarshal(carried, &c); err != nil {
		return err
	}
	if pl == nil {
		p.resumePatches(c.Patched)
		return nil
	}
	s := p.stateOf(pl.State, true)
	s.values, s.size = make(map[string][]byte, len(c.Values)), 0
	s.changed = !c.Kept
	for _, v := range c.Values {
		s.values[string(v.Key)] = v.Value
		s.size += len(v.Key) + len(v.Value)
	}
	if more := s.size - s.kept - s.added; s.waits && more > 0 { // by a binding cycle
		if _, ok := p.budget.AddState(more); ok {
			s.added += more
		}
	}
	if c.Kept && !s.waits {
		return s.Keep()
	}
	return nil
}
