package wasm_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// A script is a list of calls of host functions. An entry has the function, four arguments, and
// the address for the result.
const (
	scriptAt    = 0x1000
	scriptEntry = 24
	scriptMost  = 64
	scriptPages = 2 // before the region
)

// scriptGuest runs the script at all of its points.
func scriptGuest() string {
	var imports, calls strings.Builder
	for i, f := range scriptFunctions() {
		result := " (result i32)"
		if f.name == abi.HostLog {
			result = ""
		}
		fmt.Fprintf(&imports, "(import \"berth\" %q (func $f%d (param%s)%s))\n", f.name, i, strings.Repeat(" i32", f.params), result)
		args := ""
		for a := range f.params {
			args += fmt.Sprintf("(i32.load offset=%d (local.get $at)) ", 4+4*a)
		}
		call := fmt.Sprintf("(call $f%d %s)", i, args)
		if result != "" {
			call = "(i32.store offset=20 (local.get $at) " + call + ")"
		}
		fmt.Fprintf(&calls, "(if (i32.eq (local.get $f) (i32.const %d)) (then %s))\n", i, call)
	}
	return fmt.Sprintf(`(module
		%s
		(memory (export "memory") %d)
		(data (i32.const 0x2000) "AAAAAAAAkey")
		(global $top (mut i32) (i32.const %d))
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32)
			(drop (memory.grow (i32.add (i32.const 1) (i32.shr_u (local.get 0) (i32.const 16)))))
			(global.get $top)
			(global.set $top (i32.add (global.get $top) (i32.and (i32.add (local.get 0) (i32.const 63)) (i32.const -64)))))
		(func $script (local $at i32) (local $end i32) (local $f i32)
			(local.set $at (i32.const %d))
			(local.set $end (i32.add (local.get $at) (i32.mul (i32.const %d) (i32.load (i32.const %d)))))
			(block $done (loop $next
				(br_if $done (i32.ge_u (local.get $at) (local.get $end)))
				(local.set $f (i32.load (local.get $at))) ;; which a call may overwrite
				%s
				(local.set $at (i32.add (local.get $at) (i32.const %[5]d)))
				(br $next))))
		(func (export "berth_pre_filter") (param i32) (result i32) (call $script) (i32.const 0))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (call $script) (i32.const 0))
		(func (export "berth_reserve") (param i32) (result i32) (call $script) (i32.const 0))
		(func (export "berth_pre_enqueue") (param i32 i32 i32) (result i32) (call $script) (i32.const 0)))`,
		&imports, scriptPages, scriptPages<<16, scriptAt, scriptEntry, scriptAt-4, &calls)
}

type scriptFunction struct {
	name   string
	params int
}

func scriptFunctions() []scriptFunction {
	return []scriptFunction{
		{abi.HostLog, 3}, {abi.HostStateGet, 4}, {abi.HostStateSet, 4}, {abi.HostPublishedGet, 3}, {abi.HostPodObject, 3}, {abi.HostNodeObject, 3},
	}
}

// hostModel does what host functions do according to ABI section 7.
type hostModel struct {
	memory    []byte
	state     map[string][]byte // nil if there is none
	writable  bool
	hidden    map[string]bool // keys that are not there
	published [][]byte
	pods      [][]byte
	nodes     map[uint32][]byte
}

// errBounds is the trap of ABI-7.6.
var errBounds = errors.New("out of bounds")

func (h *hostModel) at(address, length uint32) ([]byte, error) {
	if uint64(address)+uint64(length) > uint64(len(h.memory)) {
		return nil, errBounds
	}
	return h.memory[address:][:length], nil
}

// run runs the script in the model's memory.
func (h *hostModel) run() error {
	u32 := binary.LittleEndian.Uint32
	end := scriptAt + scriptEntry*u32(h.memory[scriptAt-4:])
	for at := uint32(scriptAt); at < end; at += scriptEntry {
		e := h.memory[at:]
		f := u32(e)
		result, err := h.call(f, u32(e[4:]), u32(e[8:]), u32(e[12:]), u32(e[16:]))
		if err != nil {
			return err
		}
		if f > 0 && int(f) < len(scriptFunctions()) {
			binary.LittleEndian.PutUint32(e[20:], uint32(result))
		}
	}
	return nil
}

func (h *hostModel) call(f, a, b, c, d uint32) (int32, error) {
	give := func(address, capacity uint32, value []byte, ok bool) (int32, error) {
		buffer, err := h.at(address, capacity)
		switch {
		case err != nil:
			return 0, err
		case !ok:
			return -1, nil
		case len(value) <= len(buffer):
			copy(buffer, value)
		}
		return int32(len(value)), nil
	}
	switch f {
	case 0:
		_, err := h.at(b, c)
		return 0, err
	case 1, 2:
		key, err := h.at(a, b)
		if err != nil {
			return 0, err
		}
		if f == 1 {
			value, ok := h.state[string(key)]
			return give(c, d, value, ok && !h.hidden[string(key)])
		}
		value, err := h.at(c, d)
		if err != nil {
			return 0, err
		}
		return h.set(string(key), value), nil
	case 3:
		if int64(a) < int64(len(h.published)) {
			return give(b, c, h.published[a], h.published[a] != nil)
		}
	case 4:
		if int64(a) < int64(len(h.pods)) {
			return give(b, c, h.pods[a], true)
		}
	case 5:
		node, ok := h.nodes[a]
		return give(b, c, node, ok)
	default:
		return 0, nil
	}
	return give(b, c, nil, false)
}

func (h *hostModel) set(key string, value []byte) int32 {
	if h.state == nil || !h.writable || h.hidden[key] {
		return -1
	}
	next := maps.Clone(h.state)
	next[key] = bytes.Clone(value)
	size := 0
	for k, v := range next {
		size += len(k) + len(v)
	}
	if len(key) > abi.MaxStateKeySize || len(value) > abi.MaxStateValue || len(next) > abi.MaxStateKeys || size > abi.MaxStateSize {
		return -1
	}
	maps.Copy(h.state, next)
	return 0
}

// scripts is a factory of guests that get a script before each call. After the call they are
// compared with the model.
type scripts struct {
	sandbox.Factory
	t      *testing.T
	script []byte
	model  *hostModel
	spent  bool // the fuel was used up, after any of the calls
	took   time.Duration
}

type scripted struct {
	sandbox.Guest
	s *scripts
}

func (s *scripts) New(ctx context.Context, region uint32, env *sandbox.Env) (sandbox.Guest, error) {
	g, err := s.Factory.New(ctx, region, env)
	return &scripted{g, s}, err
}

func (g *scripted) Call(ctx context.Context, point abi.Point, call, lo, hi uint32) (uint32, error) {
	m, s := g.Memory(), g.s
	n := min(len(s.script)/scriptEntry, scriptMost)
	binary.LittleEndian.PutUint32(m[scriptAt-4:], uint32(n))
	copy(m[scriptAt:], s.script[:n*scriptEntry])
	s.model.memory = bytes.Clone(m)
	start := cpuTime()
	code, err := g.Guest.Call(ctx, point, call, lo, hi)
	s.took = cpuTime() - start
	if s.spent = err != nil && strings.Contains(err.Error(), "used its fuel"); s.spent {
		return code, err
	}
	if want := s.model.run(); (err == nil) != (want == nil) || err != nil && !strings.Contains(err.Error(), "out of bounds") {
		s.t.Errorf("%s: %v, want %v", point, err, want)
	}
	if after := g.Memory(); !bytes.Equal(after, s.model.memory) {
		for i := range after {
			if after[i] != s.model.memory[i] {
				s.t.Fatalf("%s: the byte at %#x is %d, want %d", point, i, after[i], s.model.memory[i])
			}
		}
	}
	return code, err
}

// scriptOf makes a script of fuzzed bytes: 9 for each entry, so that most numbers are edge
// cases.
func scriptOf(data []byte) []byte {
	interesting := []uint32{
		0, 1, 2, 3, 8, 63, 64, 65, 127, 128, 129, 255, 1024, scriptAt, 0x2000, 0x4000, 0x8000, 0xffff, 0x10000, 0x10001, 0x18000,
		scriptPages << 16, 0x20040, 0x30000, 0x3fff8, 0x40000, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 8, 1<<32 - 1, 4096,
	}
	var out []byte
	for ; len(data) >= 9; data = data[9:] {
		out = binary.LittleEndian.AppendUint32(out, uint32(data[0])%uint32(len(scriptFunctions())))
		for i := range 4 {
			kind, fine := data[1+2*i], data[2+2*i]
			out = binary.LittleEndian.AppendUint32(out, interesting[int(kind)%len(interesting)]+uint32(int32(int8(fine))*int32(kind>>6)))
		}
		out = binary.LittleEndian.AppendUint32(out, 0)
	}
	return out
}

// allocated returns how many bytes were allocated on the heap.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// FuzzHostCalls: sequences of host calls in cycles and outside of them, with pods, nodes, state
// and published keys, do exactly what the ABI says. Results and memory are those of a model, a
// fault is a trap or the end of the fuel, and time and memory of the host are proportional to
// the fuel.
func FuzzHostCalls(f *testing.F) {
	points, reads, host := `{"preFilter":{},"filter":{},"reserve":{},"preEnqueue":{}}`, `{"node":["generation"],"published":["other/key","other/own","nobody/key"]}`,
		`["log","state_get","state_set","published_get","pod_object","node_object"]`
	encoded := strings.Replace(manifestJSON(points, reads, host), `"events"`, `"cycleLocal":["AAAAAAAA"],"events"`, 1)
	module, err := newRuntime(f, sandbox.RuntimeConfig{}).Load(f.Context(), wat.Compile(f, scriptGuest(), encoded))
	if err != nil {
		f.Fatal(err)
	}
	m, err := wire.DecodeManifest([]byte(encoded))
	if err != nil {
		f.Fatal(err)
	}
	p := &priced{world: newWorld(3)}
	p.keepState(f)
	w, s := p.world, &scripts{Factory: module}
	large := podObject("a", "large", "")
	large.Annotations = map[string]string{"a": strings.Repeat("x", 50_000)}
	pods := []*state.Pod{incoming("a", "p", 0), state.NewPod(large), incoming("b", "q", 5)}
	// One plugin for all executions: one must not affect the next.
	guest := newPlugin(f, wasm.Config{Breaker: breaker.Config{Faults: -1}, Limits: sandbox.Limits{FuelBase: 300_000}}, s, m)
	for i := range 6 {
		f.Add(bytes.Repeat([]byte{byte(i), 13, 0, 4, 0, 16, 0, 14, 0}, 3), uint8(i))
	}
	f.Add([]byte{2, 14, 0, 4, 0, 16, 0, 8, 0, 1, 14, 0, 4, 0, 16, 0, 18, 0}, uint8(0))
	f.Add([]byte{2, 16, 0, 4, 0, 14, 0, 17, 0, 1, 16, 0, 4, 0, 15, 0, 18, 0, 2, 13, 0, 10, 0, 14, 0, 18, 0}, uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		s.t, s.script = t, scriptOf(data)
		pod := pods[int(which)%len(pods)]
		c := w.cycle(pod)
		c.State = p.state.Clone()
		model := &hostModel{
			state: keptState(), writable: true, published: [][]byte{make([]byte, abi.MaxStateValue), nil, nil},
			pods: [][]byte{encodedPod(t, pod.Object)}, nodes: map[uint32][]byte{},
		}
		for row, node := range w.snap.Nodes.Node {
			if node != nil {
				model.nodes[uint32(row)] = encodedNode(t, node.Object)
			}
		}
		s.model = model
		call := func(point abi.Point, st **state.CycleState, f func()) {
			for try := 0; !s.spent; try++ {
				kept, before := maps.Clone(model.state), (*st).Clone()
				fuel, bytes := guest.Fuel(), allocated()
				f()
				guest.Settle("a")
				used, took := guest.Fuel()-fuel, s.took
				if more := allocated() - bytes; more > 4<<20+64*uint64(used) {
					t.Errorf("%s: %d bytes were allocated for %d units", point, more, used)
				}
				if took <= 2*time.Millisecond+time.Duration(60*used) {
					return
				}
				if try == 5 {
					t.Errorf("%s: %v for %d units", point, took, used)
					return
				}
				model.state, *st = kept, before // once more: the machine may have been busy
			}
		}
		s.spent = false
		call(abi.PreFilter, &c.State, func() { guest.PreFilter(c) })
		call(abi.Filter, &c.State, func() { filter(guest, c, w.rows()) })
		pl := w.placement(pod, "n1")
		pl.State = c.State
		model.hidden, model.pods, model.nodes = map[string]bool{"AAAAAAAA": true}, [][]byte{encodedPod(t, pl.Pod.Object)}, map[uint32][]byte{0: encodedNode(t, pl.Node.Object)}
		call(abi.Reserve, &pl.State, func() { guest.Reserve(pl) })
		model.pods, model.nodes, model.state, model.published = nil, nil, nil, nil
		batch := pods[:2] // of one namespace: after faults, each is asked alone
		for _, pod := range batch {
			model.pods = append(model.pods, encodedPod(t, pod.Object))
		}
		none := &state.CycleState{}
		call(abi.PreEnqueue, &none, func() { guest.PreEnqueue(batch, make([]*plugin.Status, len(batch))) })
	})
}

// keptState returns what keepState writes.
func keptState() map[string][]byte {
	out := map[string][]byte{}
	for _, key := range []string{"key", string(make([]byte, 8)), string(make([]byte, 128))} {
		out[key] = make([]byte, abi.MaxStateValue)
	}
	return out
}

func encodedPod(t testing.TB, pod *v1.Pod) []byte {
	data, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func encodedNode(t testing.TB, node *v1.Node) []byte {
	data, err := node.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
