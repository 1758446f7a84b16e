package wasm

import (
	"strings"

	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/encoding"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// hostCalls answers the host functions of one instance, within what the call that runs may
// see.
type hostCalls struct {
	env  *sandbox.Env
	logs *journal
	// ledger counts what the guest logs.
	ledger   *ledger
	state    *guestState // nil if the call has none
	writable bool
	// cycle has what others published; nil if the call may not read it.
	cycle     *state.CycleState
	published []publishedKey
	// hidden are keys of the state that hold ids. concealed says that this call runs
	// where those mean nothing (ABI-7.10).
	hidden    map[string]bool
	concealed bool
	// pods are those of the call; node returns the node of a row of the instance.
	pods      []*state.Pod
	node      func(row uint32) *state.Node
	encodings *encoding.Cache
}

var _ sandbox.HostFunctions = (*hostCalls)(nil)

// begin sets what a call may see.
func (h *hostCalls) begin(c *core, r *request) {
	h.state, h.cycle, h.writable, h.pods = nil, nil, r.stateful, r.pods
	h.concealed = r.point.Aux()
	if r.state == nil {
		return
	}
	h.state = c.stateOf(r.state, r.stateful)
	if !c.nodeScoped(r.point) {
		h.cycle = r.state
	}
}

// end forgets it, so that nothing is kept alive.
func (h *hostCalls) end() { h.state, h.cycle, h.pods = nil, nil, nil }

// Log passes on what the guest logs (ABI-7.1).
func (h *hostCalls) Log(level int, text string) { h.logs.guest(h.ledger, level, text) }

// StateGet returns the value of a key of the state (ABI-7.4).
func (h *hostCalls) StateGet(key string) ([]byte, bool) {
	if h.state == nil || h.conceals(key) {
		return nil, false
	}
	value, ok := h.state.values[key]
	return value, ok
}

// StateSet sets the value of a key, and reports whether that is allowed.
func (h *hostCalls) StateSet(key string, value []byte) bool {
	if h.state == nil || !h.writable || h.conceals(key) {
		return false
	}
	return h.state.set(key, value)
}

func (h *hostCalls) conceals(key string) bool { return h.concealed && h.hidden[key] }

// PublishedGet returns what another plugin published in this pod's cycle (ABI-7.9).
func (h *hostCalls) PublishedGet(index uint32) ([]byte, bool) {
	if h.cycle == nil || uint64(index) >= uint64(len(h.published)) {
		return nil, false
	}
	from := &h.published[index]
	s, ok := h.cycle.Read(from.plugin, stateKey).(*guestState)
	if !ok || !s.public[from.key] {
		return nil, false
	}
	value, ok := s.values[from.key]
	return value, ok
}

// PodObject returns a pod of the call as protobuf (ABI-7.7).
func (h *hostCalls) PodObject(index uint32) ([]byte, bool) {
	if uint64(index) >= uint64(len(h.pods)) {
		return nil, false
	}
	return h.read(h.encodings.Pod(h.pods[index].Object)), true
}

// NodeObject returns the node of a row as protobuf (ABI-7.8).
func (h *hostCalls) NodeObject(row uint32) ([]byte, bool) {
	if h.node == nil {
		return nil, false
	}
	node := h.node(row)
	if node == nil {
		return nil, false
	}
	return h.read(h.encodings.Node(node.Object)), true
}

// read charges for an object. The price is the same whether or not the object had to be
// encoded, so that fuel does not depend on what others have read.
func (h *hostCalls) read(object *encoding.Object) []byte {
	h.env.Charge(object.Price)
	return object.Data
}

// publishedKey is a key that another plugin of the profile publishes.
type publishedKey struct{ plugin, key string }

// publishedKeys splits the entries of a manifest's reads.published (ABI-9.4).
func publishedKeys(names []string) []publishedKey {
	out := make([]publishedKey, len(names))
	for i, name := range names {
		out[i].plugin, out[i].key, _ = strings.Cut(name, "/")
	}
	return out
}

// keySet returns keys that a manifest lists as a set.
func keySet(keys []string) map[string]bool {
	set := make(map[string]bool, len(keys))
	for _, key := range keys {
		set[key] = true
	}
	return set
}
