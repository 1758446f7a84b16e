package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// Module is the code of a plugin, checked and compiled. Its instances share it.
type Module struct {
	runtime *Runtime
	bytes   []byte
	digest  string
	exports map[abi.Point]bool
	// configures reports whether the module exports berth_configure.
	configures bool

	mu struct {
		sync.Mutex
		// compiled has the module in each form that was needed.
		compiled map[form]*compiled
	}
}

// form is what the code of a module depends on: the limits that package meter writes into it.
type form struct {
	depth, tables uint32
	structure     meter.Limits
}

// compiled is a module in a wazero runtime of its own. The cache is its own, too: a shared one keeps
// the native code of all modules, closed ones included.
type compiled struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	module  wazero.CompiledModule
	info    *meter.Info // nil if it is not metered
	entry   int64       // size of the entry in the store, in bytes; 0 without one
	release func()      // of the entry in the store
}

// close frees the module. Its instances must be closed.
func (c *compiled) close(ctx context.Context) error {
	if c.release != nil {
		c.release()
	}
	return errors.Join(c.runtime.Close(ctx), c.cache.Close(ctx))
}

var _ Factory = (*Module)(nil)

// Digest returns the digest of a module's bytes, as "sha256:…".
func Digest(module []byte) string {
	sum := sha256.Sum256(module)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// MemoryOf returns what a module will take before it is compiled, in bytes: its bytes, their rewritten form, and machine code
// that is four times as large as the module's own. Module.Memory returns what it takes.
func MemoryOf(m *wire.Module) int64 { return 2*int64(m.Size) + 4*int64(m.CodeSize) }

// Memory returns what the module takes in all forms, in bytes: its bytes, their rewritten forms and the machine code. The size of
// machine code is known from the store of compiled modules.
func (m *Module) Memory() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := int64(len(m.bytes))
	for _, c := range m.mu.compiled {
		size += int64(len(m.bytes)) + c.entry
	}
	return size
}

// Load is LoadWith with the default limits.
func (r *Runtime) Load(ctx context.Context, module []byte) (*Module, error) {
	return r.LoadWith(ctx, module, Limits{})
}

// LoadWith compiles a module for plugins with these limits, and keeps its bytes: for a
// plugin with other limits but memory it is compiled again.
//
// # Errors
//
// The module exceeds a limit, is not valid, or does not export what the ABI requires.
func (r *Runtime) LoadWith(ctx context.Context, module []byte, limits Limits) (*Module, error) {
	m := &Module{runtime: r, bytes: module, digest: Digest(module), exports: make(map[abi.Point]bool)}
	m.mu.compiled = make(map[form]*compiled)
	limits = limits.WithDefaults()
	c, err := m.compile(ctx, &limits)
	if err != nil {
		return nil, err
	}
	if err := checkExports(c.module); err != nil {
		return nil, errors.Join(fmt.Errorf("module %s: %w", fault.ShortDigest(m.digest), err), m.Close(ctx))
	}
	// Each instance is checked again, with its region.
	if err := c.fits(memory.NewLinear(limits.OwnMemory, smallRegion), limits.OwnMemory); err != nil {
		return nil, errors.Join(fmt.Errorf("module %s: %w", fault.ShortDigest(m.digest), err), m.Close(ctx))
	}
	exported := c.module.ExportedFunctions()
	for _, point := range points() {
		_, m.exports[point] = exported[ExportOf(point)]
	}
	_, m.configures = exported[abi.ExportConfigure]
	return m, nil
}

// smallRegion is the size of the region of a small cluster, in bytes.
const smallRegion = 1 << 20

func (m *Module) form(l *Limits) form {
	return form{depth: l.Depth, tables: l.TableElements, structure: l.structure(m.runtime.config.Structure)}
}

// compile returns the module in the form for limits, compiled at the first time.
func (m *Module) compile(ctx context.Context, limits *Limits) (*compiled, error) {
	f := m.form(limits)
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.mu.compiled[f]
	if !ok {
		var err error
		if c, err = m.compileForm(ctx, f); err != nil {
			return nil, err
		}
	}
	if size := 2*int64(len(m.bytes)) + c.entry; size > limits.TotalMemory {
		err := fmt.Errorf("module %s: it takes %d bytes when compiled, and limits.memoryTotal is %d: raise it, or make the module smaller",
			fault.ShortDigest(m.digest), size, limits.TotalMemory)
		if !ok {
			err = errors.Join(err, c.close(ctx))
		}
		return nil, err
	}
	m.mu.compiled[f] = c
	return c, nil
}

func (m *Module) compileForm(ctx context.Context, f form) (*compiled, error) {
	code, info, err := m.rewritten(f)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", fault.ShortDigest(m.digest), err)
	}
	job := &CompileJob{Code: code}
	if info != nil {
		job.Original = m.bytes
	}
	c, err := m.compileJob(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("compile module %s: %w", fault.ShortDigest(m.digest), err)
	}
	c.info = info
	return c, nil
}

// rewritten returns the code that runs in place of the module's.
func (m *Module) rewritten(f form) ([]byte, *meter.Info, error) {
	if m.runtime.config.Unmetered {
		code, err := meter.WithoutNames(m.bytes)
		return code, nil, err
	}
	return meter.Rewrite(m.bytes, meter.Config{
		Limits: f.structure, MaxDepth: f.depth, MemoryMaxPages: memoryPages, TableMaxElements: f.tables,
		Omit: m.runtime.config.Omit, Prices: Prices(),
	})
}

// compileJob compiles a module, or takes it from the store.
func (m *Module) compileJob(ctx context.Context, job *CompileJob) (*compiled, error) {
	if !m.runtime.stores() {
		if err := m.runtime.before(ctx, job); err != nil {
			return nil, err
		}
		return m.compileIn(ctx, job.Code, "")
	}
	key := job.key()
	release := m.runtime.use(key)
	c, err := m.stored(ctx, job, key)
	if err != nil {
		release()
		return nil, err
	}
	c.release = release
	return c, nil
}

// stored takes a module from the store, or compiles it and stores it. An entry means that these
// bytes were compiled within the limits of the Compiler once, so that this process may do it again
// if the entry vanishes under its hands.
func (m *Module) stored(ctx context.Context, job *CompileJob, key string) (*compiled, error) {
	store := m.runtime.store
	if store.Find(key) {
		c, err := m.compileIn(ctx, job.Code, store.Path(key))
		if err == nil {
			return c, nil
		}
		m.runtime.config.Log.Warn("a file of the cache of compiled modules is damaged: the module is compiled again",
			"dir", store.Path(key), "module", fault.ShortDigest(m.digest), "error", err)
		store.Remove(key)
	}
	work, done, err := store.Work()
	if err != nil {
		store.Failed(err)
	} else {
		defer done()
	}
	job.CacheDir = work
	var failed *StoreError
	if err := m.runtime.before(ctx, job); errors.As(err, &failed) {
		store.Failed(failed.Err)
		work = ""
	} else if err != nil {
		return nil, err
	}
	c, err := m.compileIn(ctx, job.Code, work)
	if errors.As(err, &failed) {
		store.Failed(failed.Err)
		work = ""
		c, err = m.compileIn(ctx, job.Code, work)
	}
	if err == nil && work != "" && checkExports(c.module) == nil {
		store.Keep(work, key)
	}
	return c, err
}

// compileIn compiles a module with a cache in a folder, or in memory if dir is empty.
func (m *Module) compileIn(ctx context.Context, code []byte, dir string) (*compiled, error) {
	config := wazero.NewRuntimeConfig()
	if m.runtime.config.Interpreter {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	cache, err := openCache(dir)
	if err != nil {
		return nil, unstored(err)
	}
	c := &compiled{runtime: wazero.NewRuntimeWithConfig(ctx, compilerConfig(config, cache)), cache: cache}
	if err := c.prepare(ctx, code); err != nil {
		return nil, errors.Join(unstored(err), c.close(ctx))
	}
	c.entry = sizeOf(dir)
	return c, nil
}

// sizeOf returns the size of the files of an entry in the store, in bytes; 0 if it has vanished or is none.
func sizeOf(dir string) (size int64) {
	if dir == "" {
		return 0
	}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // what was added up is enough
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

// prepare instantiates the host's modules and compiles the guest's.
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

// Close frees the module. Its instances must be closed.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for f, c := range m.mu.compiled {
		errs = append(errs, c.close(ctx))
		delete(m.mu.compiled, f)
	}
	return errors.Join(errs...)
}
