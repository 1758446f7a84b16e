package wasm_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// faultLog is the limit of the log of a faulted call in bytes: of the fault, and of what the guest logs.
const faultLog = 64 << 10

// floodGuest logs a text of 4 KiB many times in each function that the host calls, and traps 60 calls deep in one of them.
func floodGuest(text, trap string) string {
	var hex, exports strings.Builder
	for _, b := range []byte(strings.Repeat(text, 4096/len(text)+1)[:4096/len(text)*len(text)]) {
		fmt.Fprintf(&hex, "\\%02x", b)
	}
	function := func(name, rest string) {
		body := "(call $flood)"
		if name == trap {
			body += "(call $deep (i32.const 60))"
		}
		if name == "start" {
			fmt.Fprintf(&exports, "(func $start %s) (start $start)\n", body)
			return
		}
		fmt.Fprintf(&exports, "(func (export %q) %s)\n", name, fmt.Sprintf(rest, body))
	}
	function("start", "")
	function("_initialize", "%s")
	function(abi.ExportABI, "(result i32) %s (i32.const 0x10000)")
	function(abi.ExportAlloc, `(param i32 i32) (result i32) %s
		(drop (memory.grow (i32.add (i32.const 1) (i32.shr_u (local.get 0) (i32.const 16)))))
		(global.get $top)
		(global.set $top (i32.add (global.get $top) (i32.and (i32.add (local.get 0) (i32.const 63)) (i32.const -64))))`)
	function(abi.ExportConfigure, "(param i32 i32) (result i32) %s (i32.const 0)")
	for _, point := range abi.Points() {
		if name, typ := wire.ExportOf(point); name != "" {
			function(name, "(param"+strings.Repeat(" i32", len(typ.Params))+") (result i32) %s (i32.const 0)")
		}
	}
	return fmt.Sprintf(`(module
		(import "berth" "log" (func $log (param i32 i32 i32)))
		(memory (export "memory") 2)
		(global $top (mut i32) (i32.const 0x10000))
		(data (i32.const 4096) "%s")
		(func $flood (local $i i32) (loop $next
			(call $log (i32.const 3) (i32.const 4096) (i32.const %d))
			(br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 30)))))
		(func $deep (param i32)
			(if (i32.eqz (local.get 0)) (then unreachable))
			(call $deep (i32.sub (local.get 0) (i32.const 1))))
		%s)`, &hex, 4096/len(text)*len(text), &exports)
}

// callPoint calls a plugin at a point, once.
func (w *world) callPoint(p *wasm.Plugin, point abi.Point) {
	pod, other := incoming("a", "p", 0), incoming("a", "other", 0)
	pl := w.placement(pod, "n0")
	c := w.cycle(pod)
	map[abi.Point]func(){
		abi.PreEnqueue: func() { p.PreEnqueue([]*state.Pod{pod, other}, make([]*plugin.Status, 2)) },
		abi.QueueSort:  func() { p.Keys([]*state.QueuedPod{{Pod: pod, Timestamp: time.Unix(0, 0)}}) },
		abi.Hint: func() {
			p.Hint(state.EventAssignedPodDelete(), state.Object{}, []*state.Pod{pod}, make([]state.Hint, 1))
		},
		abi.PreFilter:  func() { p.PreFilter(c) },
		abi.AddPod:     func() { p.AddPod(c, 0, other) },
		abi.RemovePod:  func() { p.RemovePod(c, 0, other) },
		abi.Filter:     func() { filter(p, c, w.rows()) },
		abi.PostFilter: func() { p.PostFilter(c, &plugin.Diagnosis{Codes: make([]abi.Code, len(w.rows()))}) },
		abi.PreScore:   func() { p.PreScore(c, w.rows()) },
		abi.Score:      func() { p.Score(c, w.rows(), make([]int64, len(w.rows()))) },
		abi.Normalize:  func() { p.Normalize(c, w.rows(), make([]int64, len(w.rows()))) },
		abi.Reserve:    func() { p.Reserve(pl) },
		abi.Unreserve:  func() { p.Unreserve(pl) },
		abi.Permit:     func() { p.Permit(pl) },
		abi.PreBind:    func() { p.PreBind(pl) },
		abi.Bind:       func() { p.Bind(pl) },
		abi.PostBind:   func() { p.PostBind(pl) },
	}[point]()
}

// TestRestLogOfEveryCall: if any function of a guest floods the log and traps, in a cycle or outside of one, with any texts and
// names, it takes at most 64 KiB of the log, the record of the fault included.
func TestRestLogOfEveryCall(t *testing.T) {
	r := newRuntime(t, sandbox.RuntimeConfig{})
	load := func(t *testing.T, text, trap string) *sandbox.Module {
		module := wat.Compile(t, floodGuest(text, trap), "")
		parsed, err := wire.ReadModule(module)
		if err != nil {
			t.Fatal(err)
		}
		names := make([]string, len(parsed.Imports)+len(parsed.Functions))
		for i := range names {
			names[i] = strings.Repeat(text, 128)[:128/len(text)*len(text)]
		}
		m, err := r.Load(t.Context(), withNames(module, "m", names))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close(t.Context()) })
		return m
	}
	formats := map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"JSON": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	}
	texts := map[string]string{"spaces": "\u00a0", "wide spaces": "\u3000", "quotes": `"`, "backslashes": `\`, "lines": "a\n", "nothing to see": "\x00", "replaced": "\ufffd"}
	for name, text := range texts {
		for format, handler := range formats {
			bounded := func(t *testing.T, what string, out *bytes.Buffer) {
				t.Helper()
				if n := out.Len(); n > faultLog {
					t.Errorf("%s, %s, %s: %d bytes of log, at most %d", what, name, format, n, faultLog)
				}
				if !strings.Contains(out.String(), "the rest is left out") {
					t.Errorf("%s, %s, %s: it logged little: %d bytes", what, name, format, out.Len())
				}
				out.Reset()
			}
			for _, trap := range []string{"start", "_initialize", abi.ExportABI, abi.ExportAlloc, abi.ExportConfigure} {
				var out bytes.Buffer
				_, err := wasm.New(t.Context(), wasm.Config{Name: "guest"}, wasm.Deps{Factory: load(t, text, trap), Manifest: &wire.Manifest{}, Log: slog.New(handler(&out))})
				if err == nil || !strings.Contains(err.Error(), "unreachable") {
					t.Fatalf("%s: %v", trap, err)
				}
				fmt.Fprintf(&out, "%q", err.Error()) // as who loads it logs it
				bounded(t, trap, &out)
			}
			for _, point := range abi.Points() {
				export, _ := wire.ExportOf(point)
				if export == "" {
					continue
				}
				m := &wire.Manifest{Events: []wire.ManifestEvent{{Resource: "Node", Actions: []string{"Add"}}}, Directives: all()}
				m.Points.Set(point, &wire.ManifestPoint{})
				if point == abi.Normalize {
					m.Points.Score = &wire.ManifestPoint{}
				}
				var out bytes.Buffer
				clk := clock.NewStep(time.Unix(0, 0))
				p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Grants: all(), Breaker: breaker.Config{Faults: -1}},
					wasm.Deps{Factory: load(t, text, export), Manifest: m, Binder: &binder{}, Clock: clk, Log: slog.New(handler(&out))})
				if err != nil {
					t.Fatal(err)
				}
				bounded(t, "New", &out)
				w := newWorld(2)
				for range 2 { // the second has to start an instance
					w.callPoint(p, point)
					bounded(t, point.String(), &out)
					clk.Advance(time.Second)
				}
				if n := p.FaultsAt(point); n != 2 {
					t.Errorf("%s: %d faults, want 2", point, n)
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestLogBetweenCycles: calls about pods that arrive, keys and events come as often as a cluster changes. What they log in a
// second together is bounded, though none is faulted.
func TestLogBetweenCycles(t *testing.T) {
	var out bytes.Buffer
	clk := clock.NewStep(time.Unix(0, 0))
	code := abi.Success
	p := auxPlugin(t, func(g *tiny, _ string, _, _, _ uint32) int32 {
		for range 40 {
			g.env.Log(2, strings.Repeat("x", 1000))
		}
		return int32(code)
	}, wire.ManifestReads{}, wasm.Deps{Clock: clk, Log: slog.New(slog.NewTextHandler(&out, nil))}, abi.PreEnqueue, abi.QueueSort, abi.Hint)
	w := newWorld(1)
	for _, code = range []abi.Code{abi.Success, abi.Error} {
		for range 3 {
			for range 50 {
				for _, point := range []abi.Point{abi.PreEnqueue, abi.QueueSort, abi.Hint} {
					w.callPoint(p, point)
				}
			}
			if n := out.Len(); n > faultLog || n < faultLog/4 || strings.Count(out.String(), "the rest is left out") != 1 {
				t.Errorf("%d bytes of log in a second, at most %d, of which one line says that there is more", n, faultLog)
			}
			out.Reset()
			clk.Advance(time.Second)
		}
	}
	if p.Calls() != 2*3*50*3 {
		t.Errorf("%d calls", p.Calls())
	}
}
