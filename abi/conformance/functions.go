package conformance

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/proto"
	"github.com/berth-scheduler/berth/abi/wire"
)

// functions are the host functions of an instance. They record calls that are not allowed.
type functions struct {
	man *wire.Manifest
	// values are the values of published keys, by index; nil if absent.
	values [][]byte

	// The current call; point is NumPoints if there is none.
	point abi.Point
	aux   bool
	state *guestState
	pods  []cluster.Pod
	node  func(row uint32) *cluster.Node

	said  []string // through log
	wrong []string // calls that are not allowed
}

var _ Functions = (*functions)(nil)

// guestState is the state of one cycle.
type guestState struct{ values map[string][]byte }

func newGuestState() *guestState { return &guestState{values: map[string][]byte{}} }

// clone returns a copy; nil if there is no state.
func (s *guestState) clone() *guestState {
	if s == nil {
		return nil
	}
	return &guestState{values: maps.Clone(s.values)}
}

// declared records a host function that the manifest does not declare (ABI-9.6).
func (f *functions) declared(name string) {
	if !slices.Contains(f.man.Host, name) {
		f.wrong = append(f.wrong, fmt.Sprintf("the guest called %s, which its manifest does not declare", name))
	}
}

// Log implements Functions.
func (f *functions) Log(_ int, text string) {
	f.declared(abi.HostLog)
	f.said = append(f.said, text)
}

// scoped reports whether the call has scope node.
func (f *functions) scoped() bool {
	return f.point < abi.NumPoints && f.man.Scope(f.point) == abi.ScopeNode
}

// StateGet implements Functions (ABI-7.2, 7.5, 7.10).
func (f *functions) StateGet(key string) ([]byte, bool) {
	f.declared(abi.HostStateGet)
	if f.state == nil || f.scoped() && !f.man.Sharded() || f.aux && slices.Contains(f.man.CycleLocal, key) {
		return nil, false
	}
	value, ok := f.state.values[key]
	return value, ok
}

// StateSet implements Functions (ABI-7.3, 7.5).
func (f *functions) StateSet(key string, value []byte) bool {
	f.declared(abi.HostStateSet)
	if f.scoped() {
		f.wrong = append(f.wrong, fmt.Sprintf("%s of scope node set the key %q in its state (ABI-7.5)", f.point, key))
		return false
	}
	if f.state == nil {
		return false
	}
	size := len(key) + len(value)
	for k, v := range f.state.values {
		if k != key {
			size += len(k) + len(v)
		}
	}
	_, known := f.state.values[key]
	if len(key) > abi.MaxStateKeySize || len(value) > abi.MaxStateValue || size > abi.MaxStateSize || !known && len(f.state.values) == abi.MaxStateKeys {
		return false
	}
	f.state.values[key] = slices.Clone(value)
	return true
}

// PublishedGet implements Functions (ABI-7.9).
func (f *functions) PublishedGet(index uint32) ([]byte, bool) {
	f.declared(abi.HostPublishedGet)
	if f.scoped() || f.state == nil || uint64(index) >= uint64(len(f.values)) || f.values[index] == nil {
		return nil, false
	}
	return f.values[index], true
}

// PodObject implements Functions (ABI-7.7).
func (f *functions) PodObject(index uint32) ([]byte, bool) {
	f.declared(abi.HostPodObject)
	if uint64(index) >= uint64(len(f.pods)) {
		return nil, false
	}
	return proto.Pod(&f.pods[index]), true
}

// NodeObject implements Functions (ABI-7.8).
func (f *functions) NodeObject(row uint32) ([]byte, bool) {
	f.declared(abi.HostNodeObject)
	if f.node == nil {
		return nil, false
	}
	n := f.node(row)
	if n == nil {
		return nil, false
	}
	return proto.Node(n), true
}
