package wasm_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// hostileText is a text that harms a terminal, a log or a table: escapes, control characters, characters that change the
// direction of writing, line breaks and bytes that are not UTF-8. It has size bytes.
func hostileText(size int) string {
	const part = "\x1b[2J\x1b]0;title\x07\u202e\u2066\u0085\u009b31m\r\nlevel=ERROR msg=forged\t\"\\\x00é日\ufeff\xff\xc3\x28 "
	return strings.Repeat(part, size/len(part)+1)[:size]
}

// unprintable returns the first character that cannot be printed, except line breaks and tabs; "" for none.
func unprintable(text string) string {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") || !strconv.IsGraphic(r) && r != '\n' && r != '\t' {
			return fmt.Sprintf("%q at %d", text[i:min(len(text), i+8)], i)
		}
	}
	return ""
}

// withNames adds a name section with a name for each function.
func withNames(module []byte, own string, names []string) []byte {
	text := func(out []byte, s string) []byte { return append(binary.AppendUvarint(out, uint64(len(s))), s...) }
	sub := func(out []byte, id byte, payload []byte) []byte {
		return append(binary.AppendUvarint(append(out, id), uint64(len(payload))), payload...)
	}
	list := binary.AppendUvarint(nil, uint64(len(names)))
	for i, name := range names {
		list = text(binary.AppendUvarint(list, uint64(i)), name)
	}
	section := sub(sub(text(nil, "name"), 0, text(nil, own)), 1, list)
	return sub(bytes.Clone(module), 0, section)
}

// TestNamesInTraces: for any names of functions, and any depth and number of traps, a fault logs at most 64 KiB, its texts are
// short, and the memory of faults does not depend on the names.
func TestNamesInTraces(t *testing.T) {
	const depth, functions, faults = 40, 64, 10
	var code strings.Builder
	for i := range functions {
		fmt.Fprintf(&code, "(func $f%d (param i32) (if (i32.eqz (local.get 0)) (then unreachable)) (call $f%d (i32.sub (local.get 0) (i32.const 1))))\n", i, (i+1)%functions)
	}
	text := `(module
	  (memory (export "memory") 1)
	  (global $top (mut i32) (i32.const 4096))
	  (func (export "berth_abi") (result i32) (i32.const 65536))
	  (func (export "berth_alloc") (param i32 i32) (result i32) (local $at i32)
	    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 63)) (i32.const -64)))
	    (global.set $top (i32.add (local.get $at) (local.get 0)))
	    (drop (memory.grow (i32.div_u (i32.add (local.get 0) (i32.const 65535)) (i32.const 65536))))
	    (local.get $at))
	  ` + code.String() + `
	  (func (export "berth_filter") (param i32 i32 i32) (result i32) (call $f0 (i32.const ` + strconv.Itoa(depth) + `)) (i32.const 0)))`
	bare := wat.Compile(t, text, "")
	man := manifest(t, `{"filter":{}}`, `{}`, `[]`)
	long, middle := strings.ToValidUTF8(hostileText(15<<20), "?"), strings.ToValidUTF8(hostileText(64<<10), "?")
	all := func(name string) (out []string) {
		for range functions + 3 {
			out = append(out, name)
		}
		return out
	}
	one := all("")
	one[2] = long
	for name, module := range map[string][]byte{
		"none":        bare,
		"one of 15 M": withNames(bare, "m", one),
		"64 K each":   withNames(bare, middle, all(middle)),
		"own of 15 M": withNames(bare, long, all("f")),
	} {
		for _, c := range []sandbox.RuntimeConfig{{}, {Interpreter: true}, {Unmetered: true}} {
			r := newRuntime(t, c)
			m, err := r.Load(t.Context(), module)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.Close(t.Context()) })
			var out bytes.Buffer
			p := newPlugin(t, wasm.Config{Breaker: breaker.Config{Faults: -1}}, m, man)
			_ = p.Close(t.Context())
			p, err = wasm.New(t.Context(), wasm.Config{Name: "guest", Breaker: breaker.Config{Faults: -1}},
				wasm.Deps{Factory: m, Manifest: man, Log: slog.New(slog.NewTextHandler(&out, nil))})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(3)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range faults {
				filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
			}
			runtime.ReadMemStats(&after)
			if n := p.Faults(); n != faults {
				t.Fatalf("%s, %+v: %d faults, want %d", name, c, n, faults)
			}
			if n := out.Len() / faults; n > 64<<10 {
				t.Errorf("%s, %+v: a fault logs %d bytes", name, c, n)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
				t.Errorf("%s, %+v: %d faults take %d MiB", name, c, faults, n>>20)
			}
			p.Settle("a")
			f := p.Status().Breaker.LastFault
			if text := f.Error(); len(f.Trace) > 8<<10 || len(text) > 2<<10 || unprintable(text+f.Trace+f.Output) != "" {
				t.Errorf("%s, %+v: a text of %d bytes, a trace of %d, with %s", name, c, len(text), len(f.Trace), unprintable(text+f.Trace+f.Output))
			}
			if f.Trace == "" {
				t.Errorf("%s, %+v: no trace: %q", name, c, f.Trace)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestStartTrace: why a first instance cannot start is told with the functions in which it trapped.
func TestStartTrace(t *testing.T) {
	bare := wat.Compile(t, `(module
	  (memory (export "memory") 1)
	  (func (loop (br 0)))
	  (func (export "_initialize") (call 0))
	  (func (export "berth_abi") (result i32) (i32.const 65536))
	  (func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 64))
	  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))`, "")
	m, err := newRuntime(t, sandbox.RuntimeConfig{}).Load(t.Context(), withNames(bare, "m", []string{"new_pools", strings.ToValidUTF8(hostileText(1<<10), "?"), "a", "b", "c"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(t.Context()) })
	_, err = wasm.New(t.Context(), wasm.Config{Name: "guest"}, wasm.Deps{Factory: m, Manifest: manifest(t, `{"filter":{}}`, `{}`, `[]`), Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "its fuel of") || !strings.Contains(err.Error(), "\nIt trapped in:\n  new_pools\n  ") {
		t.Errorf("%v", err)
	}
	if text := fmt.Sprint(err); len(text) > 4<<10 || unprintable(text) != "" {
		t.Errorf("a text of %d bytes, with %s", len(text), unprintable(text))
	}
}

// TestFaultIsToldOnce: a fault that keeps a cycle from being prepared fails all of its calls, and is logged once.
func TestFaultIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	guest := sandbox.NewNativeFactory(func(env *sandbox.Env) sandbox.NativePlugin {
		return &tiny{exports: []string{"berth_filter"}, env: env, limit: 8192}
	})
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest"}, wasm.Deps{
		Factory: guest, Manifest: &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}},
		Log: slog.New(slog.NewTextHandler(&out, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(9)
	c := w.cycle(incoming("a", "p", 0))
	for _, row := range w.rows() {
		filter(p, c, []uint32{row})
	}
	if n := strings.Count(out.String(), "plugin fault"); n != 1 || p.Faults() == 0 {
		t.Errorf("%d records of %d faults:\n%s", n, p.Faults(), out.String())
	}
}

// TestHostileGuest: any output of a guest is short and printable in every text of a fault, and in the log.
func TestHostileGuest(t *testing.T) {
	text := hostileText(1 << 20)
	var out bytes.Buffer
	guest := native(func(g *tiny, _ string, _, _, _ uint32) int32 {
		for range 100 {
			g.env.Log(3, text)
		}
		panic(text)
	}, abi.ExportFilter)
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Breaker: breaker.Config{Faults: 1}}, wasm.Deps{
		Factory: guest, Manifest: &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}},
		Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(1)
	for i := range 2 { // the second is that of the breaker
		v := filter(p, w.cycle(incoming("a", "p", int32(i))), w.rows())
		p.Settle("a")
		f := p.Status().Breaker.LastFault
		for what, at := range map[string]struct {
			text string
			most int
		}{"detail": {f.Detail, 1 << 10}, "output": {f.Output, 4 << 10}, "trace": {f.Trace, 8 << 10}, "error": {f.Error(), 4 << 10}, "reason": {v.Texts(0)[0], 4 << 10}} {
			if bad := unprintable(at.text); len(at.text) > at.most || bad != "" {
				t.Errorf("%d, %s: %d bytes, at most %d, %s", i, what, len(at.text), at.most, bad)
			}
		}
	}
	if n, bad := out.Len(), unprintable(out.String()); n > 64<<10 || bad != "" {
		t.Errorf("a fault logs %d bytes, %s", n, bad)
	}
	if strings.Count(out.String(), "\nlevel=") > 0 {
		t.Error("a record is forged")
	}
}

// TestLogFlood: the records that a plugin logs about one pod are bounded as a whole, for empty texts and for ones that grow
// when they are escaped, in text and JSON, over all calls of the cycle.
func TestLogFlood(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "quotes": strings.Repeat(`"\`, 1000), "zeros": strings.Repeat("\x00", 4096)} {
		for _, format := range []func(*bytes.Buffer) slog.Handler{
			func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
			func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		} {
			var out bytes.Buffer
			guest := native(func(g *tiny, _ string, _, _, _ uint32) int32 {
				for range 60_000 / (1 + len(text)/64) {
					g.env.Log(1, text)
				}
				return 0
			}, abi.ExportFilter, abi.ExportPreFilter)
			p, err := wasm.New(t.Context(), wasm.Config{Name: "guest"}, wasm.Deps{
				Factory: guest, Manifest: &wire.Manifest{Points: wire.ManifestPoints{PreFilter: &wire.ManifestPoint{}, Filter: &wire.ManifestPoint{}}},
				Log: slog.New(format(&out)),
			})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(1)
			const pods = 3
			for i := range pods {
				c := w.cycle(incoming("a", "p"+strconv.Itoa(i), 0))
				p.PreFilter(c)
				filter(p, c, w.rows())
			}
			if n := out.Len() / pods; n > sandbox.DefaultLogSize+512 || n < sandbox.DefaultLogSize/3 {
				t.Errorf("%s: %d bytes of log for a pod, the limit is %d", name, n, sandbox.DefaultLogSize)
			}
			if n := strings.Count(out.String(), "the rest is left out"); n != pods {
				t.Errorf("%s: that lines are left out is told %d times for %d pods", name, n, pods)
			}
		}
	}
}

// TestReexports: an import that is exported again under a name that the host calls or reads is refused, with a remedy. If
// the host called it, it would have no memory to work on.
func TestReexports(t *testing.T) {
	r := newRuntime(t, sandbox.RuntimeConfig{})
	unmetered := newRuntime(t, sandbox.RuntimeConfig{Unmetered: true})
	for export, imp := range map[string]string{
		"berth_configure": `(import "wasi_snapshot_preview1" "args_get" (func $i (param i32 i32) (result i32)))`,
		"berth_alloc":     `(import "wasi_snapshot_preview1" "environ_get" (func $i (param i32 i32) (result i32)))`,
		"berth_abi":       `(import "wasi_snapshot_preview1" "sched_yield" (func $i (result i32)))`,
		"berth_reserve":   `(import "wasi_snapshot_preview1" "fd_close" (func $i (param i32) (result i32)))`,
		"berth_filter":    `(import "wasi_snapshot_preview1" "fd_prestat_dir_name" (func $i (param i32 i32 i32) (result i32)))`,
		"berth_score":     `(import "berth" "pod_object" (func $i (param i32 i32 i32) (result i32)))`,
	} {
		text := `(module ` + imp + ` (memory (export "memory") 1) (export "` + export + `" (func $i))`
		for _, f := range []struct{ name, params, result string }{{"berth_abi", "", "65536"}, {"berth_alloc", "(param i32 i32)", "4096"}} {
			if f.name != export {
				text += `(func (export "` + f.name + `") ` + f.params + ` (result i32) (i32.const ` + f.result + `))`
			}
		}
		module := wat.Compile(t, text+")", "")
		for _, runtime := range []*sandbox.Runtime{r, unmetered} {
			m, err := runtime.Load(t.Context(), module)
			if err == nil && runtime == r { // the metered host calls a function of the module that calls a priced import
				p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", CrashOnBug: true}, wasm.Deps{Factory: m, Manifest: &wire.Manifest{}})
				if err == nil {
					err = p.Close(t.Context())
				}
				if err != nil && strings.Contains(err.Error(), "nil pointer") {
					t.Errorf("%s: %v", export, err)
				}
				_ = m.Close(t.Context())
				continue
			}
			if err == nil || !strings.Contains(err.Error(), export) || !strings.Contains(err.Error(), "exports its import") {
				t.Errorf("%s: %v", export, err)
			}
		}
		parsed, err := wire.ReadModule(module)
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.Check(parsed, &wire.Manifest{}, "m.wasm"); err == nil || !strings.Contains(err.Error(), `export "`+export+`": it is re-exported from an import`) {
			t.Errorf("%s: %v", export, err)
		}
	}
}
