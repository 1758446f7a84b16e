package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// New implements Factory: it makes an instance, runs its initialisation, and checks its
// version.
func (m *Module) New(ctx context.Context, region uint32, env *Env) (Guest, error) {
	env.limits = env.limits.WithDefaults()
	c, err := m.compile(ctx, &env.limits)
	if err != nil {
		return nil, err
	}
	if env.starting -= fuelOfMaking(len(m.bytes)); env.starting < 0 {
		return nil, fmt.Errorf("an instance of a module of %d bytes costs %d units of fuel to make, which limits.fuelStart does not allow",
			len(m.bytes), fuelOfMaking(len(m.bytes)))
	}
	linear := env.memory
	if linear == nil {
		linear = memory.NewLinear(env.limits.OwnMemory, region)
	}
	if err := c.fits(linear, env.limits.OwnMemory); err != nil {
		return nil, err
	}
	env.linear = linear
	ctx = experimental.WithMemoryAllocator(context.WithValue(ctx, envKey{}, env), linear)
	// Names are left out, so that instances of one module do not collide. Clock
	// and random source are wazero's deterministic defaults (ABI-1.4).
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithStdout(output{env}).WithStderr(output{env})
	if now := env.clock * 1000; now != 0 {
		config = config.WithWalltime(func() (int64, int32) { // moves as wazero's
			now++
			return now / 1000, int32(now%1000) * 1_000_000
		}, sys.ClockResolution(time.Microsecond))
	}
	module, err := c.runtime.InstantiateModule(ctx, c.module, config)
	if err != nil {
		linear.Free()
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	// The Env is outermost, where looking it up allocates nothing.
	calls := context.WithValue(context.WithoutCancel(ctx), envKey{}, env)
	g := &instance{ctx: calls, env: env, module: module, memory: module.ExportedMemory(abi.ExportMemory), stack: make([]uint64, 3)}
	if g.gauges, err = newGauges(g, c.info); err != nil {
		return nil, errors.Join(err, module.Close(ctx))
	}
	env.gauges = g.gauges
	if c.info != nil {
		g.added = c.info.Added
	}
	env.native, env.deep = c.native(), c.deep()
	g.stacks = stacksOf(module.ExportedFunction(abi.ExportAlloc))
	if err := g.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("instantiate: %w", err), module.Close(ctx))
	}
	for _, point := range points() {
		g.points[point] = module.ExportedFunction(ExportOf(point))
	}
	g.alloc, g.configure = module.ExportedFunction(abi.ExportAlloc), module.ExportedFunction(abi.ExportConfigure)
	if err := g.checkVersion(ctx, module.ExportedFunction(abi.ExportABI)); err != nil {
		return nil, errors.Join(err, module.Close(ctx))
	}
	return g, nil
}

// instance is a WebAssembly instance. Functions are looked up once: looking one up costs
// more than calling it.
type instance struct {
	ctx              context.Context // carries the Env to host functions, and never ends
	env              *Env
	gauges           *gauges // nil if the module is not metered
	module           api.Module
	memory           api.Memory
	alloc, configure api.Function
	points           [abi.NumPoints]api.Function
	stack            []uint64
	added            int // functions that the rewriter put before the module's own
	stacks           stacks
}

var _ Guest = (*instance)(nil)

// Global returns a mutable global that the module exports; nil if there is none.
func (g *instance) Global(name string) api.MutableGlobal {
	global, _ := g.module.ExportedGlobal(name).(api.MutableGlobal)
	return global
}

// begin runs the start section and _initialize.
func (g *instance) begin(ctx context.Context) error {
	for _, name := range []string{meter.StartExport, "_initialize"} {
		f := g.module.ExportedFunction(name)
		if f == nil {
			continue
		}
		if err := g.starts(ctx, &f); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(name, meter.Prefix), err)
		}
	}
	return nil
}

// starts calls a function with what is left of the fuel of starting.
func (g *instance) starts(ctx context.Context, f *api.Function) error {
	err := g.run(ctx, f, g.env.starting)
	g.env.starting -= g.env.used
	return err
}

// run calls a function with the stack as its arguments. The call ends when its fuel is used
// up, or when ctx ends.
func (g *instance) run(ctx context.Context, f *api.Function, grant int64) error {
	a := &g.env.allowance
	a.begin(ctx, grant)
	defer func() {
		if a.ctx = nil; g.env.memory != nil {
			g.env.memory.Shallow()
		}
	}()
	if g.gauges == nil {
		return exited((*f).CallWithStack(g.ctx, g.stack))
	}
	g.env.frames = min(g.gauges.info.MaxDepth, shallowDepth)
	if g.gauges.info.Added == 0 { // it does not yield
		g.env.frames = g.gauges.info.MaxDepth
	}
	g.gauges.fill(grant, g.env.frames)
	g.env.short = false
	g.env.linear.Refused() // what an earlier call asked for
	err := exited((*f).CallWithStack(g.ctx, g.stack))
	a.used = g.gauges.used(grant)
	if err == nil {
		g.shrink(f)
	}
	if err != nil {
		err = &rewritten{error: err, added: g.added}
		if status := meter.Status(g.gauges.status.Get()); status != meter.Running {
			return &metered{status: status, limits: &a.limits, grant: grant, cause: a.cause, trap: err}
		}
		if asked := g.env.linear.Refused(); asked > 0 {
			g.env.short = true
			return &outOfMemory{asked: asked, limit: a.limits.OwnMemory, trap: err}
		}
	}
	return err
}

// exited returns the error of a call. Two codes of proc_exit mean for wazero that a context ended; the
// guest chooses the code, and must not make its exit look like a decision of the host.
func exited(err error) error {
	if err == nil {
		return nil // before exit, which is on the heap
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("module closed with exit_code(%d)", exit.ExitCode())
	}
	return err
}

func (g *instance) checkVersion(ctx context.Context, version api.Function) error {
	if err := g.starts(ctx, &version); err != nil {
		return fmt.Errorf("%s: %w", abi.ExportABI, err)
	}
	got := uint32(g.stack[0])
	if got>>16 != abi.Major || got&0xffff > abi.Minor {
		return fmt.Errorf("the module was built for ABI %d.%d, this host speaks %d.%d: build it with a matching SDK",
			got>>16, got&0xffff, abi.Major, abi.Minor)
	}
	return nil
}

// Memory implements Guest.
func (g *instance) Memory() []byte {
	if g.memory == nil {
		return nil
	}
	view, _ := g.memory.Read(0, g.memory.Size())
	return view
}

// Alloc implements Guest, with the fuel of Env for it.
func (g *instance) Alloc(ctx context.Context, size uint32) (uint32, error) {
	g.stack[0], g.stack[1] = uint64(size), abi.RegionAlign
	if err := g.run(ctx, &g.alloc, g.env.alloc); err != nil {
		return 0, err
	}
	return uint32(g.stack[0]), nil
}

// Configure implements Guest. A guest without the function accepts any configuration.
func (g *instance) Configure(ctx context.Context, config []byte) (bool, error) {
	if g.configure == nil {
		return true, nil
	}
	g.stack[0], g.stack[1] = uint64(len(config)), abi.RegionAlign
	if err := g.starts(ctx, &g.alloc); err != nil {
		return false, err
	}
	address := uint32(g.stack[0])
	if address == 0 || !g.memory.Write(address, config) {
		return false, fmt.Errorf("%s returned %#x for %d bytes of configuration", abi.ExportAlloc, address, len(config))
	}
	g.stack[0], g.stack[1] = uint64(address), uint64(len(config))
	if err := g.starts(ctx, &g.configure); err != nil {
		return false, err
	}
	return uint32(g.stack[0]) == 0, nil
}

// Call implements Guest, with the fuel of Env.Begin.
func (g *instance) Call(ctx context.Context, point abi.Point, call, lo, hi uint32) (uint32, error) {
	g.stack[0], g.stack[1], g.stack[2] = uint64(call), uint64(lo), uint64(hi)
	if err := g.run(ctx, &g.points[point], g.env.next); err != nil {
		return 0, err
	}
	return uint32(g.stack[0]), nil
}

// Close implements Guest.
func (g *instance) Close(ctx context.Context) error {
	g.memory = nil // it is freed now
	return g.module.Close(ctx)
}

// fits checks that a memory has room for what the module begins with.
func (c *compiled) fits(linear *memory.Linear, own uint32) error {
	if least := c.least(); least > linear.Max() {
		return fmt.Errorf("its memory begins with %d bytes, and limits.memory is %d", least, own)
	}
	return nil
}

// least returns the size of an instance's memory when it begins, in bytes.
func (c *compiled) least() uint64 {
	exported, ok := c.module.ExportedMemories()[abi.ExportMemory]
	if !ok {
		return 0
	}
	return uint64(exported.Min()) * memory.PageSize
}
