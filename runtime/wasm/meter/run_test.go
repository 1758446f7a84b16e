package meter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/berth-scheduler/berth/internal/testcache"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// engine is one of wazero's two engines.
type engine string

const (
	compiler    engine = "compiler"
	interpreter engine = "interpreter"
)

func engines() []engine { return []engine{compiler, interpreter} }

// host is a wazero runtime with what guests of the tests import.
type host struct {
	t       testing.TB
	runtime wazero.Runtime
	log     []uint64     // arguments of env.log
	yields  atomic.Int64 // calls of the yield function
	counts  bool         // the guest is a generated program and counts its work
	work    uint64       // of such a program, when it yielded last
	stretch uint64       // the most work between two yields
	stop    atomic.Bool  // what the yield function says
	// onYield (optional) is called by the yield function first, and what it returns last.
	onYield func() (done func())
}

// pages is the memory limit of runtimes in tests.
const pages = 2048

// newHost returns a host that is closed when t ends; with a nil t by the caller.
func newHost(t testing.TB, e engine) *host { return newCachedHost(t, e, nil) }

// newCachedHost returns a host that shares what is compiled with others; with a nil cache it does not.
func newCachedHost(t testing.TB, e engine, cache wazero.CompilationCache) *host {
	ctx := context.Background()
	config := wazero.NewRuntimeConfigCompiler()
	if e == interpreter {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	h := &host{t: t, runtime: wazero.NewRuntimeWithConfig(ctx, config.WithMemoryLimitPages(pages).WithDebugInfoEnabled(false))}
	if t != nil {
		t.Helper()
		t.Cleanup(h.close)
	}
	wasi_snapshot_preview1.MustInstantiate(ctx, h.runtime)
	i32 := []api.ValueType{api.ValueTypeI32}
	yield := func(_ context.Context, m api.Module, stack []uint64) {
		h.yields.Add(1)
		if h.onYield != nil {
			defer h.onYield()()
		}
		if h.counts {
			work := m.ExportedGlobal(fmt.Sprint("g", workGlobal))
			h.stretch = max(h.stretch, work.Get()-h.work)
			h.work = work.Get()
		}
		stack[0] = 0
		if h.stop.Load() {
			stack[0] = 1
		}
	}
	record := func(_ context.Context, _ api.Module, stack []uint64) {
		h.log = append(h.log, uint64(uint32(stack[0])))
		stack[0] = uint64(uint32(stack[0]) ^ 0x5a5a)
	}
	for name, f := range map[string]struct {
		function string
		call     api.GoModuleFunc
		params   []api.ValueType
	}{
		meter.ImportModule: {meter.YieldImport, yield, nil},
		"env":              {"log", record, i32},
	} {
		_, err := h.runtime.NewHostModuleBuilder(name).NewFunctionBuilder().WithGoModuleFunction(f.call, f.params, i32).
			Export(f.function).Instantiate(ctx)
		if err != nil {
			panic(err)
		}
	}
	return h
}

// kept returns a cache of what the compiler makes, for tests of what the code does: the next run need not compile it.
func kept(t testing.TB) wazero.CompilationCache {
	t.Helper()
	dir, err := testcache.Dir(filepath.Join("..", "..", ".."), "meter")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cache.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return cache
}

func (h *host) close() {
	if err := h.runtime.Close(context.Background()); err != nil {
		h.t.Error(err)
	}
}

// guest is an instance; of an original if info is nil.
type guest struct {
	api.Module
	info *meter.Info
	host *host
}

// guest makes an instance of a module without a name, so that there can be many.
func (h *host) guest(module []byte, info *meter.Info) (*guest, error) {
	ctx := context.Background()
	compiled, err := h.runtime.CompileModule(ctx, module)
	if err != nil {
		return nil, err
	}
	m, err := h.runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	return &guest{Module: m, info: info, host: h}, nil
}

// grant sets the fuel, as a host does before each call.
func (g *guest) grant(fuel int64) {
	if g.info != nil {
		g.set(meter.FuelExport, uint64(fuel))
		g.set(meter.SliceExport, 0)
	}
}

func (g *guest) set(global string, v uint64) { g.ExportedGlobal(global).(api.MutableGlobal).Set(v) }

// left returns what is left of the fuel.
func (g *guest) left() int64 {
	return int64(g.ExportedGlobal(meter.FuelExport).Get()) + int64(int32(g.ExportedGlobal(meter.SliceExport).Get()))
}

func (g *guest) status() meter.Status {
	if g.info == nil {
		return meter.Running
	}
	return meter.Status(g.ExportedGlobal(meter.StatusExport).Get())
}

func (g *guest) depth() int32 { return int32(g.ExportedGlobal(meter.DepthExport).Get()) }

// call returns results, or the first line of the trap.
func (g *guest) call(function string, args ...uint64) (results []uint64, trap string) {
	f := g.ExportedFunction(function)
	results, err := f.Call(context.Background(), args...)
	if err != nil {
		trap, _, _ = strings.Cut(err.Error(), "\n")
		return nil, trap
	}
	i := 0
	for _, t := range f.Definition().ResultTypes() {
		if results[i] = narrow(t, results[i]); t == tV128 {
			i++
		}
		i++
	}
	return results, ""
}

// narrow cuts what wazero leaves in the upper half of small values.
func narrow(t api.ValueType, v uint64) uint64 {
	if t == api.ValueTypeI32 || t == api.ValueTypeF32 {
		return v & 0xffffffff
	}
	return v
}

// rewrite rewrites or fails.
func rewrite(t testing.TB, module []byte, c meter.Config) ([]byte, *meter.Info) {
	t.Helper()
	out, info, err := meter.Rewrite(module, c)
	if err != nil {
		t.Fatal(err)
	}
	return out, info
}

// call is a call of an exported function.
type call struct {
	function string
	args     []uint64
}

// outcome is what can be seen of some calls into an instance.
type outcome struct {
	Calls   []string // results or trap of each
	Log     []uint64
	Memory  []byte
	Globals []uint64
	// Of a rewritten module only:
	Left   int64
	Status meter.Status
	Frames int // that a trap left open
	// Stretch is the most work between two yields; of a generated program only.
	Stretch uint64
}

// run makes an instance and calls it until it traps.
func (h *host) run(module []byte, info *meter.Info, fuel int64, calls []call) (*outcome, error) {
	h.log = nil
	out := &outcome{}
	g, err := h.guest(module, info)
	if _, trap, ok := strings.Cut(fmt.Sprint(err), "failed: wasm error: "); ok { // the start section
		trap, _, _ = strings.Cut(trap, "\n")
		out.Calls, out.Log = append(out.Calls, "start: wasm error: "+trap), h.log
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer g.Close(context.Background())
	g.grant(fuel)
	if info != nil && info.Start {
		if _, trap := g.call(meter.StartExport); trap != "" {
			out.Calls, out.Log = append(out.Calls, "start: "+trap), h.log
			out.Left, out.Status = g.left(), g.status()
			return out, nil
		}
	}
	for _, c := range calls {
		results, trap := g.call(c.function, c.args...)
		out.Calls = append(out.Calls, fmt.Sprintf("%s%v: %x %s", c.function, c.args, results, trap))
		if trap != "" {
			break
		}
		if info != nil && g.depth() != int32(info.MaxDepth) {
			return nil, fmt.Errorf("after %s %d frames are left of %d", c.function, g.depth(), info.MaxDepth)
		}
	}
	out.Log = h.log
	if m := g.ExportedMemory("memory"); m != nil {
		view, _ := m.Read(0, m.Size())
		out.Memory = bytes.Clone(view)
	}
	for i := range 8 {
		global := g.ExportedGlobal(fmt.Sprint("g", i))
		if global == nil {
			continue
		}
		out.Globals = append(out.Globals, narrow(global.Type(), global.Get()))
	}
	if info != nil {
		out.Left, out.Status, out.Frames = g.left(), g.status(), int(int32(info.MaxDepth)-g.depth())
		if h.counts {
			h.stretch = max(h.stretch, out.Globals[len(out.Globals)-1]-h.work)
		}
		out.Stretch = h.stretch
	}
	return out, nil
}

// differs says how b differs from a, not looking at the fuel of originals.
func (a *outcome) differs(b *outcome, fuel bool) error {
	switch {
	case fmt.Sprint(a.Calls) != fmt.Sprint(b.Calls):
		return fmt.Errorf("calls differ:\n%s\n%s", strings.Join(a.Calls, "\n"), strings.Join(b.Calls, "\n"))
	case fmt.Sprint(a.Log) != fmt.Sprint(b.Log):
		return fmt.Errorf("calls of the host differ: %v, %v", a.Log, b.Log)
	case fmt.Sprint(a.Globals) != fmt.Sprint(b.Globals):
		return fmt.Errorf("globals differ: %x, %x", a.Globals, b.Globals)
	case len(a.Memory) != len(b.Memory):
		return fmt.Errorf("memories have %d and %d bytes", len(a.Memory), len(b.Memory))
	case !bytes.Equal(a.Memory, b.Memory):
		for i := range a.Memory {
			if a.Memory[i] != b.Memory[i] {
				return fmt.Errorf("memories differ at %#x: %#x, %#x", i, a.Memory[i], b.Memory[i])
			}
		}
	case fuel && (a.Left != b.Left || a.Status != b.Status):
		return fmt.Errorf("fuel differs: %d left, %s; %d left, %s", a.Left, a.Status, b.Left, b.Status)
	}
	return nil
}

// offsetOf returns the offset in err, which must be an *Error about size bytes.
func offsetOf(err error, size int) error {
	var e *meter.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("got %T: %w", err, err)
	}
	if e.Offset < 0 || e.Offset > size {
		return fmt.Errorf("offset %d of %d bytes: %w", e.Offset, size, err)
	}
	return nil
}
