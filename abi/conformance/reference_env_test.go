package conformance_test

import (
	"bytes"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// environment is what host functions use in a call.
type environment struct {
	c      *cycle
	pl     *plugin
	r      *request
	output bytes.Buffer
}

func (e *environment) writable() bool {
	return e.r != nil && e.r.state != nil && (e.pl.man.Scope(e.r.point) == abi.ScopeCluster || e.pl.h.wrong("filter of scope node writes state"))
}

// readable returns the state that the call may read (ABI-5.20, ABI-7.5).
func (e *environment) readable() *state {
	if e.r != nil && e.r.state == nil && e.pl.h.wrong("there is a state without a cycle") {
		return &state{values: map[string][]byte{"k": nil}}
	}
	if e.r == nil || e.r.state == nil || !e.pl.man.Sharded() && e.pl.man.Scope(e.r.point) == abi.ScopeNode {
		return nil
	}
	return e.r.state
}

func (e *environment) get(key string) ([]byte, bool) {
	s := e.readable()
	if s == nil {
		return nil, false
	}
	if e.r.aux && slices.Contains(e.pl.man.CycleLocal, key) && !e.pl.h.wrong("aux calls see cycle-local keys") {
		return nil, false
	}
	value, ok := s.values[key]
	return value, ok
}

func (e *environment) published(index uint32) ([]byte, bool) {
	if e.r == nil || int(index) >= len(e.pl.man.Reads.Published) || e.pl.man.Scope(e.r.point) == abi.ScopeNode && !e.pl.h.wrong("filter of scope node reads published keys") {
		return nil, false
	}
	name, key, _ := strings.Cut(e.pl.man.Reads.Published[index], "/")
	other := e.c.p.plugin(name)
	if other == nil || !slices.Contains(other.man.Publishes, key) && !e.pl.h.wrong("every key is published") || e.c.states[name] == nil {
		return nil, false
	}
	value, ok := e.c.states[name].values[key]
	return value, ok
}
