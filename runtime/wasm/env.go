package wasm

import (
	"cmp"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/encoding"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
)

// Env is what host functions of one instance work on: its log, and the state of
// the call that runs.
type Env struct {
	allowance
	next     int64 // fuel of the call that is about to be made
	starting int64 // fuel that is left to start with
	// memory is the instance's; nil for one that is in no budget.
	memory *memory.Linear
	// serve (optional) takes the place of all that follows but the log.
	serve    HostFunctions
	log      tail
	state    *guestState // nil when the call has none
	writable bool
	// cycle has what others published; nil when the call may not read it.
	cycle     *state.CycleState
	published []publishedKey
	// hidden are keys of the state that hold ids; concealed tells that this call is
	// made where those mean nothing (ABI-7.10).
	hidden    map[string]bool
	concealed bool
	// pods are those of the call, node returns the node of a row of the instance.
	pods      []*state.Pod
	node      func(row uint32) *state.Node
	encodings *encoding.Cache
	// panicked is what a host function failed with, which is the host's mistake.
	panicked *hostPanic
	// heard (optional) passes on what the guest logs.
	heard func(l *ledger, level int, text string)
	// ledger counts what it logs.
	ledger *ledger
}

// functions are what the guest's calls come to.
func (e *Env) functions() HostFunctions {
	if e.serve != nil {
		return e.serve
	}
	return e
}

// Log takes a text of the guest; what is too long is cut.
func (e *Env) Log(level int, text string) {
	text = plain.CutWith(text, abi.MaxLogText, "")
	e.log.line(text)
	if e.heard != nil {
		e.heard(e.ledger, level, text)
	}
}

// output is what a guest writes to its standard streams.
type output struct{ env *Env }

// Write implements io.Writer, once for each entry of a list of WASI's.
func (o output) Write(p []byte) (int, error) {
	o.env.charge(priceOfOutput(min(len(p), tailSize)))
	return o.env.log.Write(p)
}

// StateGet returns the value of a key of the state.
func (e *Env) StateGet(key string) ([]byte, bool) {
	if e.state == nil || e.conceals(key) {
		return nil, false
	}
	value, ok := e.state.values[key]
	return value, ok
}

// StateSet sets the value of a key, and reports whether it may.
func (e *Env) StateSet(key string, value []byte) bool {
	if e.state == nil || !e.writable || e.conceals(key) {
		return false
	}
	return e.state.set(key, value)
}

func (e *Env) conceals(key string) bool { return e.concealed && e.hidden[key] }

// begin sets what a call may see.
func (e *Env) begin(p *Plugin, r *request) {
	e.state, e.cycle, e.writable, e.pods = nil, nil, r.stateful, r.pods
	e.concealed = r.point.Aux()
	if r.state == nil {
		return
	}
	e.state = p.stateOf(r.state, r.stateful)
	if !p.nodeScoped(r.point) {
		e.cycle = r.state
	}
}

// end takes it back, so that nothing is kept alive.
func (e *Env) end() { e.state, e.cycle, e.pods = nil, nil, nil }

// guestState is a plugin's bytes in a CycleState (ABI-7.4).
type guestState struct {
	values map[string][]byte
	size   int
	most   int             // 0 means the ABI's limit
	public map[string]bool // keys that others may read
}

var _ state.Value = (*guestState)(nil)

// Clone implements state.Value. Values are never changed in place, so they are
// shared.
func (s *guestState) Clone() state.Value {
	c := &guestState{values: make(map[string][]byte, len(s.values)), size: s.size, most: s.most, public: s.public}
	for k, v := range s.values {
		c.values[k] = v
	}
	return c
}

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

// tailSize is how much of a guest's output is kept, in bytes.
const tailSize = 4096

// tail keeps the end of what was written to it.
type tail struct{ data []byte }

// Write implements io.Writer for stdout and stderr, which come in pieces.
func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[max(0, len(p)-tailSize):]...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// line adds a text on a line of its own.
func (t *tail) line(text string) {
	if len(t.data) > 0 && t.data[len(t.data)-1] != '\n' {
		t.data = append(t.data, '\n')
	}
	_, _ = t.Write(append([]byte(text), '\n'))
}

func (t *tail) String() string { return strings.TrimSuffix(string(t.data), "\n") }
