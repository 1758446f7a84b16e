package app

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// opened is a compiled module that a tool calls.
type opened struct {
	*module.Loaded
	code    *sandbox.Module
	runtime *sandbox.Runtime
}

// openModule compiles a module. named (optional) is the same module with the names of its
// functions.
func openModule(ctx context.Context, loaded *module.Loaded, named []byte, o *compileOptions) (*opened, error) {
	r, err := o.runtime()
	if err != nil {
		return nil, err
	}
	if named == nil {
		named = loaded.Bytes
	}
	code, err := r.Load(ctx, named)
	if err != nil {
		_ = r.Close(context.WithoutCancel(ctx)) // the other error counts
		return nil, fmt.Errorf("%s: %w", loaded.Path, err)
	}
	return &opened{Loaded: loaded, code: code, runtime: r}, nil
}

func (m *opened) close(ctx context.Context) error { return m.runtime.Close(context.WithoutCancel(ctx)) }

// clocks are the clocks of instances: each begins hours after the one before, so that a plugin that asks its clock answers otherwise in
// another instance.
type clocks struct{ made int64 }

func (c *clocks) next() int64 {
	const first, apart = 1640995200, 7*3600 + 31*60 + 21 // three of them are in both halves of a minute
	c.made++
	return first + (c.made-1)*apart
}

// factory makes instances for package berthtest.
func (m *opened) factory(ctx context.Context) berthtest.Factory {
	clock := new(clocks)
	return func(host berth.Host) berthtest.Guest {
		bare, err := m.code.RawInstance(ctx, sandbox.Limits{}, regionRoom, clock.next(), host.(sandbox.HostFunctions))
		if err != nil {
			panic(&berthtest.Trap{Err: err})
		}
		g := &bareGuest{ctx: ctx, code: m.code, bare: bare}
		// Tests make many instances and do not close them.
		runtime.AddCleanup(g, func(b *sandbox.RawInstance) { _ = b.Close(context.WithoutCancel(ctx)) }, bare)
		return g
	}
}

// bareGuest is an instance for package berthtest. It panics where a test would stop.
type bareGuest struct {
	ctx  context.Context
	code *sandbox.Module
	bare *sandbox.RawInstance
}

// Memory implements berthtest.Guest.
func (g *bareGuest) Memory() []byte { return g.bare.Memory() }

// Alloc implements berthtest.Guest.
func (g *bareGuest) Alloc(size, align uint32) uint32 {
	at, err := g.bare.Alloc(g.ctx, size, align)
	trap(err)
	if uint64(at)+uint64(size) > uint64(len(g.bare.Memory())) {
		trap(fmt.Errorf("berth_alloc(%d, %d) returned %#x, but the memory has %d bytes (ABI-2.4)", size, align, at, len(g.bare.Memory())))
	}
	return at
}

// Configure implements berthtest.Guest.
func (g *bareGuest) Configure(address, length uint32) int32 {
	result, err := g.bare.Configure(g.ctx, address, length)
	trap(err)
	return result
}

// Call implements berthtest.Guest.
func (g *bareGuest) Call(export string, call, lo, hi uint32) int32 {
	result, err := g.bare.Call(g.ctx, export, call, lo, hi)
	trap(err)
	return result
}

// Exports implements berthtest.Guest.
func (g *bareGuest) Exports() []string {
	var all []string
	for _, point := range abi.Points() {
		if name, _ := wire.ExportOf(point); name != "" && g.code.ExportsName(name) {
			all = append(all, name)
		}
	}
	if g.code.ExportsName(abi.ExportConfigure) {
		all = append(all, abi.ExportConfigure)
	}
	return all
}

func trap(err error) {
	if err != nil {
		panic(&berthtest.Trap{Err: err})
	}
}

// recorder is a testing.TB outside of a test. It records the failures and notes.
type recorder struct {
	testing.TB // no other method than those below is called
	failed     []string
	noted      []string
	first      bool // the first failure ends the test
}

// Helper implements testing.TB.
func (*recorder) Helper() {}

// Logf implements testing.TB.
func (r *recorder) Logf(format string, args ...any) {
	r.noted = append(r.noted, fmt.Sprintf(format, args...))
}

// Errorf implements testing.TB.
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
	if r.first {
		runtime.Goexit()
	}
}

// Fatalf implements testing.TB.
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// Fatal implements testing.TB.
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// record runs f as a test and returns its failures.
func record(f func(t testing.TB)) []string { return recorded(f).failed }

func recorded(f func(t testing.TB)) *recorder { return recordedTo(&recorder{}, f) }

func recordedTo(r *recorder, f func(t testing.TB)) *recorder {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := guarded(func() { f(r) }); err != nil {
			r.Errorf("the plugin trapped: %v", err)
		}
	}()
	<-done
	return r
}

// guarded calls f and returns the trap that ended it, if any.
func guarded(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			t, ok := r.(*berthtest.Trap)
			if !ok {
				panic(r)
			}
			err = t
		}
	}()
	f()
	return nil
}
