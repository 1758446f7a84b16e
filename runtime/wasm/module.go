package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/berth-scheduler/berth/abi"
)

// Sizes of guest memory in bytes.
const (
	pageSize = 65536
	// DefaultOwnMemory is what a guest may use besides the region.
	DefaultOwnMemory = 64 << 20
)

// RuntimeConfig is how modules are run.
type RuntimeConfig struct {
	// CacheDir keeps compiled modules between runs, by the digest of their bytes;
	// empty keeps them in memory.
	CacheDir string
	// OwnMemory is what a guest may use besides the region, in bytes; 0 means
	// DefaultOwnMemory.
	OwnMemory uint32
	// Interpreter runs modules without compiling them: slow, for tests.
	Interpreter bool
}

// Runtime compiles modules and shares what was compiled.
type Runtime struct {
	config RuntimeConfig
	cache  wazero.CompilationCache
}

// NewRuntime returns a runtime; Close frees what it compiled.
func NewRuntime(config RuntimeConfig) (*Runtime, error) {
	if config.OwnMemory == 0 {
		config.OwnMemory = DefaultOwnMemory
	}
	r := &Runtime{config: config, cache: wazero.NewCompilationCache()}
	if config.CacheDir != "" {
		var err error
		if r.cache, err = wazero.NewCompilationCacheWithDir(config.CacheDir); err != nil {
			return nil, fmt.Errorf("cache of compiled modules in %s: %w", config.CacheDir, err)
		}
	}
	return r, nil
}

// Close frees compiled modules. All of their instances must be closed.
func (r *Runtime) Close(ctx context.Context) error { return r.cache.Close(ctx) }

// Module is the code of a plugin, checked and compiled. Its guests share it.
type Module struct {
	runtime *Runtime
	bytes   []byte
	digest  string
	exports map[abi.Point]bool

	mu struct {
		sync.Mutex
		// compiled is by memory limit in pages: wazero limits memory by runtime.
		compiled map[uint32]*compiled
	}
}

// compiled is a module in a wazero runtime of its own.
type compiled struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
}

var _ Factory = (*Module)(nil)

// Digest returns the digest of a module's bytes, as "sha256:…".
func Digest(module []byte) string {
	sum := sha256.Sum256(module)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Load compiles a module whose structure was checked. The bytes are kept.
func (r *Runtime) Load(ctx context.Context, module []byte) (*Module, error) {
	m := &Module{runtime: r, bytes: module, digest: Digest(module), exports: make(map[abi.Point]bool)}
	m.mu.compiled = make(map[uint32]*compiled)
	c, err := m.compile(ctx, m.pages(0))
	if err != nil {
		return nil, err
	}
	exported := c.module.ExportedFunctions()
	for _, point := range points() {
		_, m.exports[point] = exported[exportOf(point)]
	}
	return m, nil
}

// pages returns the memory limit for a region: its size rounded up to a power of
// two, so that growing seldom needs another runtime.
func (m *Module) pages(region uint32) uint32 {
	own := (m.runtime.config.OwnMemory + pageSize - 1) / pageSize
	room := uint32(16) // 1 MiB
	for uint64(room)*pageSize < uint64(region) {
		room *= 2
	}
	return min(own+room, 65536)
}

// compile returns the module in a runtime with a memory limit.
func (m *Module) compile(ctx context.Context, pages uint32) (*compiled, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.mu.compiled[pages]; ok {
		return c, nil
	}
	config := wazero.NewRuntimeConfig()
	if m.runtime.config.Interpreter {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.WithCompilationCache(m.runtime.cache).WithMemoryLimitPages(pages).WithDebugInfoEnabled(false)
	c := &compiled{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	if err := c.prepare(ctx, m.bytes); err != nil {
		return nil, errors.Join(fmt.Errorf("compile module %s: %w", shortDigest(m.digest), err), c.runtime.Close(ctx))
	}
	m.mu.compiled[pages] = c
	return c, nil
}

// prepare makes the host's modules and compiles the guest's.
func (c *compiled) prepare(ctx context.Context, module []byte) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, c.runtime); err != nil {
		return err
	}
	if err := hostModule(ctx, c.runtime); err != nil {
		return err
	}
	var err error
	c.module, err = c.runtime.CompileModule(ctx, module)
	return err
}

// Exports implements Factory.
func (m *Module) Exports(point abi.Point) bool { return m.exports[point] }

// Digest implements Factory.
func (m *Module) Digest() string { return m.digest }

// Close frees the module. Its guests must be closed.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for pages, c := range m.mu.compiled {
		errs = append(errs, c.runtime.Close(ctx))
		delete(m.mu.compiled, pages)
	}
	return errors.Join(errs...)
}

// New implements Factory: it makes an instance, lets it initialise itself, and
// checks its version.
func (m *Module) New(ctx context.Context, region uint32, env *Env) (Guest, error) {
	c, err := m.compile(ctx, m.pages(region))
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, envKey{}, env)
	// Names are left out, so that instances of one module do not collide. Clock
	// and random source are wazero's deterministic defaults (ABI-1.4).
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").
		WithStdout(&env.log).WithStderr(&env.log)
	instance, err := c.runtime.InstantiateModule(ctx, c.module, config)
	if err != nil {
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	g := &instanceGuest{ctx: ctx, module: instance, memory: instance.ExportedMemory(abi.ExportMemory), stack: make([]uint64, 3)}
	for _, point := range points() {
		g.points[point] = instance.ExportedFunction(exportOf(point))
	}
	g.alloc, g.configure = instance.ExportedFunction(abi.ExportAlloc), instance.ExportedFunction(abi.ExportConfigure)
	if err := g.checkVersion(instance.ExportedFunction(abi.ExportABI)); err != nil {
		return nil, errors.Join(err, instance.Close(ctx))
	}
	return g, nil
}

// instanceGuest is a WebAssembly instance. Handles of functions are looked up
// once: looking one up costs more than calling it.
type instanceGuest struct {
	ctx              context.Context // carries the Env to host functions
	module           api.Module
	memory           api.Memory
	alloc, configure api.Function
	points           [abi.NumPoints]api.Function
	stack            []uint64
}

var _ Guest = (*instanceGuest)(nil)

func (g *instanceGuest) checkVersion(version api.Function) error {
	switch {
	case version == nil:
		return fmt.Errorf("the module does not export %s: () -> i32", abi.ExportABI)
	case g.alloc == nil:
		return fmt.Errorf("the module does not export %s: (i32, i32) -> i32", abi.ExportAlloc)
	case g.memory == nil:
		return fmt.Errorf("the module does not export its memory as %q", abi.ExportMemory)
	}
	if err := version.CallWithStack(g.ctx, g.stack); err != nil {
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
	view, _ := g.memory.Read(0, g.memory.Size())
	return view
}

// Alloc implements Guest.
func (g *instanceGuest) Alloc(_ context.Context, size uint32) (uint32, error) {
	g.stack[0], g.stack[1] = uint64(size), abi.RegionAlign
	if err := g.alloc.CallWithStack(g.ctx, g.stack); err != nil {
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
	address, err := g.Alloc(ctx, uint32(len(config)))
	if err != nil {
		return false, err
	}
	if address == 0 || !g.memory.Write(address, config) {
		return false, fmt.Errorf("%s returned %#x for %d bytes of configuration", abi.ExportAlloc, address, len(config))
	}
	g.stack[0], g.stack[1] = uint64(address), uint64(len(config))
	if err := g.configure.CallWithStack(g.ctx, g.stack); err != nil {
		return false, err
	}
	return uint32(g.stack[0]) == 0, nil
}

// Call implements Guest. This is the one place where a guest's points are
// called, so metering goes here.
func (g *instanceGuest) Call(_ context.Context, point abi.Point, call, lo, hi uint32) (uint32, error) {
	g.stack[0], g.stack[1], g.stack[2] = uint64(call), uint64(lo), uint64(hi)
	if err := g.points[point].CallWithStack(g.ctx, g.stack); err != nil {
		return 0, err
	}
	return uint32(g.stack[0]), nil
}

// Close implements Guest.
func (g *instanceGuest) Close(ctx context.Context) error { return g.module.Close(ctx) }
