package wasm_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestStructureOfPlugin: a plugin may have its own limit of each kind for a module's structure. A
// module just within it is used, also beside a plugin with other limits; one just beyond it is
// refused.
func TestStructureOfPlugin(t *testing.T) {
	for name, c := range map[string]struct {
		has int // the guest "worsens" has so many
		set func(l *sandbox.Limits, n int)
	}{
		"functions":             {4, func(l *sandbox.Limits, n int) { l.Functions = n }},
		"globals":               {2, func(l *sandbox.Limits, n int) { l.Globals = n }},
		"locals":                {4, func(l *sandbox.Limits, n int) { l.Locals = n }},
		"blocks in one another": {2, func(l *sandbox.Limits, n int) { l.Nesting = n }},
	} {
		r := newRuntime(t, sandbox.RuntimeConfig{})
		module, man := guest(t, r, "guests/worsens")
		var within, beyond sandbox.Limits
		c.set(&within, c.has)
		c.set(&beyond, c.has-1)
		_, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Limits: beyond}, wasm.Deps{Factory: module, Manifest: man})
		if want := fmt.Sprintf("%d %s, at most %d are allowed", c.has, name, c.has-1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		p := newPlugin(t, wasm.Config{Limits: within}, module, man)
		w := newWorld(3)
		if got := verdicts(filter(p, w.cycle(incoming("a", "p", 0)), w.rows())); got != "Success Unschedulable Success" {
			t.Errorf("%s: %d are allowed: %s", name, c.has, got)
		}
	}
}

// TestSizesOfAnswers: what a plugin writes is accepted up to its limits, and no further.
func TestSizesOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		fine, less sandbox.Limits
		want       string // of less
	}{
		"reasons": {sandbox.Limits{TextSize: 4}, sandbox.Limits{TextSize: 3}, "the reasons of the call have more than 3 bytes"},
		"state":   {sandbox.Limits{StateSize: 6}, sandbox.Limits{StateSize: 5}, "state is full"},
		"directives": {
			sandbox.Limits{DirectiveSize: 22}, sandbox.Limits{DirectiveSize: 21}, "the texts of the directives have more than 21 bytes",
		},
	} {
		for _, l := range []*sandbox.Limits{&c.fine, &c.less} {
			got := sized(t, name, *l)
			if l == &c.fine && got != "" || l == &c.less && !strings.Contains(got, c.want) {
				t.Errorf("%s with %+v: %q", name, *l, got)
			}
		}
	}
}

// sized calls a plugin that returns a reason of 4 bytes, writes 6 bytes of state, or asks for a
// patch of 22. It returns what went wrong.
func sized(t *testing.T, what string, l sandbox.Limits) string {
	t.Helper()
	w := newWorld(1)
	factory := native(func(g *tiny, export string, call, _, _ uint32) int32 {
		switch what {
		case "reasons":
			copy(g.memory[100:], "busy")
			for at, v := range map[uint32]uint32{
				200: 100, 204: 4, 300: 200, 304: 1, // the list of texts, and the list of sets
				call + abi.CallReasonSets: 300, call + abi.CallReasonCount: 1, call + abi.CallStatusReason: 1,
			} {
				g.put32(at, v)
			}
			return int32(abi.Unschedulable)
		case "state":
			if !g.env.StateSet("key", []byte("val")) {
				panic("state is full")
			}
		case "directives":
			g.ask(call, abi.Annotate, "example.com/key", "a value")
		}
		return 0
	}, abi.ExportReserve)
	allowed := wire.ManifestDirectives{Annotations: []string{"example.com/"}}
	m := &wire.Manifest{Points: wire.ManifestPoints{Reserve: &wire.ManifestPoint{}}, Directives: allowed, Host: []string{"state_set"}}
	p := newPlugin(t, wasm.Config{Limits: l, Grants: allowed}, factory, m)
	placement := w.placement(incoming("a", "p", 0), nodeName(0))
	_, status := p.Reserve(placement)
	if status.CodeOf() == abi.Error {
		return status.Message()
	}
	return ""
}

// TestLogSize: records beyond the limit of a pod are dropped, and that is logged once.
func TestLogSize(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "log_flood")
	var out bytes.Buffer
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Limits: sandbox.Limits{LogSize: 10 * (9 + 128 + 5), FuelBase: 100_000}},
		wasm.Deps{Factory: module, Manifest: man, Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	w := newWorld(1)
	for range 2 {
		out.Reset()
		filter(p, w.cycle(incoming("a", "p", 1)), w.rows())
		if n := strings.Count(out.String(), `msg="and again"`); n != 10 { // of 9 bytes, the plugin's name and what a record has besides
			t.Errorf("%d lines are logged, want 10", n)
		}
		if n := strings.Count(out.String(), "the rest is left out"); n != 1 {
			t.Errorf("that lines are left out is told %d times", n)
		}
	}
}
