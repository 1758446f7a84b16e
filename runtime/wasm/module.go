package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/ours"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// Sizes of guest memory in bytes.
const (
	// DefaultOwnMemory is what a guest may use besides the region.
	DefaultOwnMemory = 64 << 20
)

// RuntimeConfig is how modules are run.
type RuntimeConfig struct {
	// CacheDir keeps compiled modules between runs, by the digest of their bytes;
	// empty keeps them in memory. What is in it is run as native code, so nobody
	// else may write to it.
	CacheDir string
	// Compiler (optional) compiles modules into the cache before this process does,
	// which then finds them there. Without CacheDir a folder is made for it.
	Compiler Compiler
	// Structure bounds what modules may be made of.
	Structure meter.Limits
	// Unmetered runs modules as they are, without fuel, depth and yields, and Omit
	// without some of these, to measure what they cost. Nothing stops such a guest.
	Unmetered bool
	Omit      meter.Part
	// Interpreter runs modules without compiling them: slow, for tests.
	Interpreter bool
	Log         *slog.Logger // optional
}

// Runtime compiles modules and shares what was compiled.
type Runtime struct {
	config RuntimeConfig
	cache  wazero.CompilationCache
	dir    string // of the cache; empty if it is in memory
	own    bool   // dir is to be removed
}

// NewRuntime returns a runtime; Close frees what it compiled.
func NewRuntime(config RuntimeConfig) (*Runtime, error) {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runtime{config: config, dir: config.CacheDir}
	if r.dir == "" && config.Compiler == nil {
		r.cache = wazero.NewCompilationCache()
		return r, nil
	}
	var err error
	if r.dir == "" {
		if r.dir, err = os.MkdirTemp("", "berth-modules-"); err != nil {
			return nil, fmt.Errorf("folder for compiled modules: %w", err)
		}
		r.own = true
	}
	if r.cache, err = openCache(r.dir); err != nil {
		return nil, fmt.Errorf("cache of compiled modules in %s: %w", r.dir, err)
	}
	return r, nil
}

func openCache(dir string) (wazero.CompilationCache, error) {
	const others fs.FileMode = 0o022 // may write
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&others != 0 {
		return nil, fmt.Errorf("others may write to it (mode %#o), and what is in it is run as native code: chmod go-w", mode)
	}
	if !ours.File(info) {
		return nil, errors.New("it belongs to another user, and what is in it is run as native code: use a folder of your own")
	}
	return wazero.NewCompilationCacheWithDir(dir)
}

// Close frees compiled modules. All of their instances must be closed.
func (r *Runtime) Close(ctx context.Context) error {
	err := r.cache.Close(ctx)
	if r.own {
		err = errors.Join(err, os.RemoveAll(r.dir))
	}
	return err
}

// Module is the code of a plugin, checked and compiled. Its guests share it.
type Module struct {
	runtime *Runtime
	bytes   []byte
	digest  string
	exports map[abi.Point]bool
	// configures tells that there is berth_configure.
	configures bool

	mu struct {
		sync.Mutex
		// compiled is by what is written into the code, or is of a runtime.
		compiled map[form]*compiled
	}
}

// form is what a module is compiled with: its memory limit in pages, and the
// limits of package meter that are part of the code.
type form struct {
	pages, depth, tables uint32
	structure            meter.Limits
}

// compiled is a module in a wazero runtime of its own.
type compiled struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
	info    *meter.Info // nil if it is not metered
}

var _ Factory = (*Module)(nil)

// Digest returns the digest of a module's bytes, as "sha256:…".
func Digest(module []byte) string {
	sum := sha256.Sum256(module)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Load is LoadWith with the default limits.
func (r *Runtime) Load(ctx context.Context, module []byte) (*Module, error) {
	return r.LoadWith(ctx, module, Limits{})
}

// LoadWith compiles a module that keeps the ABI, as limits say; plugins with other
// limits have it compiled again. The bytes are kept.
func (r *Runtime) LoadWith(ctx context.Context, module []byte, limits Limits) (*Module, error) {
	m := &Module{runtime: r, bytes: module, digest: Digest(module), exports: make(map[abi.Point]bool)}
	m.mu.compiled = make(map[form]*compiled)
	limits = limits.WithDefaults()
	c, err := m.compile(ctx, m.form(&limits, 0))
	if err != nil {
		return nil, err
	}
	if err := checkExports(c.module); err != nil {
		return nil, errors.Join(fmt.Errorf("module %s: %w", fault.ShortDigest(m.digest), err), m.Close(ctx))
	}
	exported := c.module.ExportedFunctions()
	for _, point := range points() {
		_, m.exports[point] = exported[exportOf(point)]
	}
	_, m.configures = exported[abi.ExportConfigure]
	return m, nil
}

// form returns the form for a region: its size is rounded up to a power of two,
// so that growing seldom needs another one.
func (m *Module) form(l *Limits, region uint32) form {
	own := (l.OwnMemory + memory.PageSize - 1) / memory.PageSize
	room := uint32(16) // 1 MiB
	for uint64(room)*memory.PageSize < uint64(region) {
		room *= 2
	}
	// One page less than there could be, since the size of 4 GiB is no u32.
	return form{pages: min(own+room, 65535), depth: l.Depth, tables: l.TableElements, structure: l.structure(m.runtime.config.Structure)}
}

// compile returns the module in a form.
func (m *Module) compile(ctx context.Context, f form) (*compiled, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.mu.compiled[f]; ok {
		return c, nil
	}
	code, info, err := m.rewritten(f)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", fault.ShortDigest(m.digest), err)
	}
	job := &CompileJob{Code: code, CacheDir: m.runtime.dir, Pages: f.pages}
	if info != nil {
		job.Original = m.bytes
	}
	if err := m.runtime.before(ctx, job); err != nil {
		return nil, fmt.Errorf("compile module %s: %w", fault.ShortDigest(m.digest), err)
	}
	c, err := m.compileWith(ctx, code, f, m.runtime.cache)
	if err != nil && m.runtime.dir != "" {
		// Is it the module, or a damaged file of the cache?
		var again error
		if c, again = m.compileWith(ctx, code, f, wazero.NewCompilationCache()); again == nil {
			m.runtime.config.Log.Warn("cache of compiled modules is damaged: remove the folder",
				"dir", m.runtime.dir, "module", fault.ShortDigest(m.digest), "error", err)
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("compile module %s: %w", fault.ShortDigest(m.digest), err)
	}
	c.info = info
	m.mu.compiled[f] = c
	return c, nil
}

// rewritten returns the code that is run in place of the module's.
func (m *Module) rewritten(f form) ([]byte, *meter.Info, error) {
	if m.runtime.config.Unmetered {
		code, err := meter.WithoutNames(m.bytes)
		return code, nil, err
	}
	return meter.Rewrite(m.bytes, meter.Config{
		Limits: f.structure, MaxDepth: f.depth, MemoryMaxPages: f.pages, TableMaxElements: f.tables,
		Omit: m.runtime.config.Omit, Prices: prices(),
	})
}

func (m *Module) compileWith(ctx context.Context, code []byte, f form, cache wazero.CompilationCache) (*compiled, error) {
	config := wazero.NewRuntimeConfig()
	if m.runtime.config.Interpreter {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	c := &compiled{runtime: wazero.NewRuntimeWithConfig(ctx, compilerConfig(config, cache, f.pages))}
	if err := c.prepare(ctx, code); err != nil {
		return nil, errors.Join(err, c.runtime.Close(ctx))
	}
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
	if err := meterModule(ctx, c.runtime); err != nil {
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
	for f, c := range m.mu.compiled {
		errs = append(errs, c.runtime.Close(ctx))
		delete(m.mu.compiled, f)
	}
	return errors.Join(errs...)
}
