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
	// empty keeps them in memory. What is in it is run as native code, so nobody
	// else may write to it.
	CacheDir string
	// OwnMemory is what a guest may use besides the region, in bytes; 0 means
	// DefaultOwnMemory.
	OwnMemory uint32
	// Interpreter runs modules without compiling them: slow, for tests.
	Interpreter bool
	Log         *slog.Logger // optional
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
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.CacheDir == "" {
		return &Runtime{config: config, cache: wazero.NewCompilationCache()}, nil
	}
	cache, err := openCache(config.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("cache of compiled modules in %s: %w", config.CacheDir, err)
	}
	return &Runtime{config: config, cache: cache}, nil
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
	if !ours(info) {
		return nil, errors.New("it belongs to another user, and what is in it is run as native code: use a folder of your own")
	}
	return wazero.NewCompilationCacheWithDir(dir)
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
	if err := checkExports(c.module); err != nil {
		return nil, errors.Join(fmt.Errorf("module %s: %w", shortDigest(m.digest), err), m.Close(ctx))
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
	// One page less than there could be, since the size of 4 GiB is no u32.
	return min(own+room, 65535)
}

// compile returns the module in a runtime with a memory limit.
func (m *Module) compile(ctx context.Context, pages uint32) (*compiled, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.mu.compiled[pages]; ok {
		return c, nil
	}
	c, err := m.compileWith(ctx, pages, m.runtime.cache)
	if err != nil && m.runtime.config.CacheDir != "" {
		// Is it the module, or a damaged file of the cache?
		var again error
		if c, again = m.compileWith(ctx, pages, wazero.NewCompilationCache()); again == nil {
			m.runtime.config.Log.Warn("cache of compiled modules is damaged: remove the folder",
				"dir", m.runtime.config.CacheDir, "module", shortDigest(m.digest), "error", err)
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("compile module %s: %w", shortDigest(m.digest), err)
	}
	m.mu.compiled[pages] = c
	return c, nil
}

func (m *Module) compileWith(ctx context.Context, pages uint32, cache wazero.CompilationCache) (*compiled, error) {
	config := wazero.NewRuntimeConfig()
	if m.runtime.config.Interpreter {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.WithCompilationCache(cache).WithMemoryLimitPages(pages).WithDebugInfoEnabled(false)
	c := &compiled{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	if err := c.prepare(ctx, m.bytes); err != nil {
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
