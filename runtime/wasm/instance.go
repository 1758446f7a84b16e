package wasm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// signature is the type of an exported function: i32s in, one i32 out.
type signature struct {
	name     string
	params   int
	required bool
}

// signatures returns the functions of the ABI that a guest can export (ABI-5).
func signatures() []signature {
	out := []signature{{abi.ExportABI, 0, true}, {abi.ExportAlloc, 2, true}, {abi.ExportConfigure, 2, false}}
	for _, point := range points() {
		name, typ := wire.ExportOf(point)
		out = append(out, signature{name, len(typ.Params), false})
	}
	return out
}

func (s signature) String() string {
	return s.name + ": (" + strings.TrimSuffix(strings.Repeat("i32, ", s.params), ", ") + ") -> i32"
}

// checkExports refuses a module that could not be called, whatever else was
// checked before.
func checkExports(m wazero.CompiledModule) error {
	var errs []error
	exported := m.ExportedFunctions()
	i32 := func(t api.ValueType) bool { return t == api.ValueTypeI32 }
	for _, want := range signatures() {
		f, ok := exported[want.name]
		switch {
		case !ok && want.required:
			errs = append(errs, fmt.Errorf("the module does not export %s", want))
		case !ok:
		case imported(f):
			errs = append(errs, fmt.Errorf("the module exports its import %s as %s, which the host calls: export a function of the module", importName(f), want))
		case len(f.ParamTypes()) != want.params || len(f.ResultTypes()) != 1 ||
			!i32(f.ResultTypes()[0]) || slices.ContainsFunc(f.ParamTypes(), func(t api.ValueType) bool { return !i32(t) }):
			errs = append(errs, fmt.Errorf("the module exports %s: (%s) -> (%s), expected %s",
				want.name, typeNames(f.ParamTypes()), typeNames(f.ResultTypes()), want))
		}
	}
	if _, ok := m.ExportedMemories()[abi.ExportMemory]; !ok {
		errs = append(errs, fmt.Errorf("the module does not export its memory as %q", abi.ExportMemory))
	}
	return errors.Join(errs...)
}

// imported reports whether a function is an import that the module exports again. Called by the host it has no guest
// memory to work on.
func imported(f api.FunctionDefinition) bool { _, _, ok := f.Import(); return ok }

func importName(f api.FunctionDefinition) string {
	module, name, _ := f.Import()
	return plain.Quote(module+"."+name, meter.MaxName)
}

func typeNames(types []api.ValueType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = api.ValueTypeName(t)
	}
	return strings.Join(names, ", ")
}

// New implements Factory: it makes an instance, lets it initialise itself, and
// checks its version.
func (m *Module) New(ctx context.Context, region uint32, env *Env) (Guest, error) {
	env.limits = env.limits.WithDefaults()
	c, err := m.compile(ctx, m.form(&env.limits, region))
	if err != nil {
		return nil, err
	}
	linear := env.memory
	if linear == nil {
		linear = memory.NewLinear(env.limits.OwnMemory, region)
	}
	if least := c.least(); least > linear.Max() {
		return nil, fmt.Errorf("its memory begins with %d bytes, and limits.memory is %d", least, env.limits.OwnMemory)
	}
	ctx = experimental.WithMemoryAllocator(context.WithValue(ctx, envKey{}, env), linear)
	// Names are left out, so that instances of one module do not collide. Clock
	// and random source are wazero's deterministic defaults (ABI-1.4).
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithStdout(output{env}).WithStderr(output{env})
	instance, err := c.runtime.InstantiateModule(ctx, c.module, config)
	if err != nil {
		linear.Free()
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	// The Env is outermost, where looking it up allocates nothing.
	calls := context.WithValue(context.WithoutCancel(ctx), envKey{}, env)
	g := &instanceGuest{ctx: calls, env: env, module: instance, memory: instance.ExportedMemory(abi.ExportMemory), stack: make([]uint64, 3)}
	if g.gauges, err = newGauges(instance, c.info); err != nil {
		return nil, errors.Join(err, instance.Close(ctx))
	}
	env.gauges = g.gauges
	if err := g.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("instantiate: %w", err), instance.Close(ctx))
	}
	for _, point := range points() {
		g.points[point] = instance.ExportedFunction(exportOf(point))
	}
	g.alloc, g.configure = instance.ExportedFunction(abi.ExportAlloc), instance.ExportedFunction(abi.ExportConfigure)
	if err := g.checkVersion(ctx, instance.ExportedFunction(abi.ExportABI)); err != nil {
		return nil, errors.Join(err, instance.Close(ctx))
	}
	return g, nil
}

// instanceGuest is a WebAssembly instance. Handles of functions are looked up
// once: looking one up costs more than calling it.
type instanceGuest struct {
	ctx              context.Context // carries the Env to host functions, and never ends
	env              *Env
	gauges           *gauges // nil if the module is not metered
	module           api.Module
	memory           api.Memory
	alloc, configure api.Function
	points           [abi.NumPoints]api.Function
	stack            []uint64
}

var _ Guest = (*instanceGuest)(nil)

// begin runs what a module runs before anything else.
func (g *instanceGuest) begin(ctx context.Context) error {
	for _, name := range []string{meter.StartExport, "_initialize"} {
		f := g.module.ExportedFunction(name)
		if f == nil {
			continue
		}
		if err := g.starts(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(name, meter.Prefix), err)
		}
	}
	return nil
}

// starts calls a function within what is left of the fuel of starting.
func (g *instanceGuest) starts(ctx context.Context, f api.Function) error {
	err := g.run(ctx, f, g.env.starting)
	g.env.starting -= g.env.used
	return err
}

// run calls a function with the stack, within an allowance of fuel, until ctx ends.
func (g *instanceGuest) run(ctx context.Context, f api.Function, grant int64) error {
	a := &g.env.allowance
	a.grant, a.used, a.yields, a.rested = grant, 0, 0, 0
	a.ctx, a.cause, a.stop = ctx, nil, false
	defer func() { a.ctx = nil }()
	a.watch = clock.Start()
	if g.gauges == nil {
		return f.CallWithStack(g.ctx, g.stack)
	}
	g.gauges.fill(grant)
	err := f.CallWithStack(g.ctx, g.stack)
	a.used = g.gauges.used(grant)
	if err != nil {
		if status := meter.Status(g.gauges.status.Get()); status != meter.Running {
			return &metered{status: status, limits: &a.limits, grant: grant, cause: a.cause, trap: err}
		}
	}
	return err
}

func (g *instanceGuest) checkVersion(ctx context.Context, version api.Function) error {
	if err := g.starts(ctx, version); err != nil {
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
func (g *instanceGuest) Memory() []byte {
	if g.memory == nil {
		return nil
	}
	view, _ := g.memory.Read(0, g.memory.Size())
	return view
}

// Alloc implements Guest, with the fuel of a call and a unit for each byte: the host writes
// as many.
func (g *instanceGuest) Alloc(ctx context.Context, size uint32) (uint32, error) {
	g.stack[0], g.stack[1] = uint64(size), abi.RegionAlign
	if err := g.run(ctx, g.alloc, min(g.env.limits.FuelStart, g.env.limits.FuelBase+int64(size))); err != nil {
		return 0, err
	}
	return uint32(g.stack[0]), nil
}

// Configure implements Guest. A guest without the function takes no
// configuration.
func (g *instanceGuest) Configure(ctx context.Context, config []byte) (bool, error) {
	if g.configure == nil {
		return true, nil
	}
	g.stack[0], g.stack[1] = uint64(len(config)), abi.RegionAlign
	if err := g.starts(ctx, g.alloc); err != nil {
		return false, err
	}
	address := uint32(g.stack[0])
	if address == 0 || !g.memory.Write(address, config) {
		return false, fmt.Errorf("%s returned %#x for %d bytes of configuration", abi.ExportAlloc, address, len(config))
	}
	g.stack[0], g.stack[1] = uint64(address), uint64(len(config))
	if err := g.starts(ctx, g.configure); err != nil {
		return false, err
	}
	return uint32(g.stack[0]) == 0, nil
}

// Call implements Guest, with the fuel that the Env grants.
func (g *instanceGuest) Call(ctx context.Context, point abi.Point, call, lo, hi uint32) (uint32, error) {
	g.stack[0], g.stack[1], g.stack[2] = uint64(call), uint64(lo), uint64(hi)
	if err := g.run(ctx, g.points[point], g.env.next); err != nil {
		return 0, err
	}
	return uint32(g.stack[0]), nil
}

// Close implements Guest.
func (g *instanceGuest) Close(ctx context.Context) error {
	g.memory = nil // there is none any more
	return g.module.Close(ctx)
}

// least is how large the memory of an instance is when it begins, in bytes.
func (c *compiled) least() uint64 {
	exported, ok := c.module.ExportedMemories()[abi.ExportMemory]
	if !ok {
		return 0
	}
	return uint64(exported.Min()) * memory.PageSize
}
