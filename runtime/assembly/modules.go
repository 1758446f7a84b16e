package assembly

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/market/lock"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/child"
	"github.com/berth-scheduler/berth/runtime/wasm/encoding"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// ModulesConfig says how plugin modules are run.
type ModulesConfig struct {
	// Recorded (optional) is an empty folder for the modules of a recording.
	Recorded string
	// CacheDir stores compiled modules between runs; empty keeps them in memory.
	CacheDir string
	// CacheOptional goes without the folder for as long as it cannot be used.
	CacheOptional bool
	// SourceDir stores fetched modules by their digests; empty for none.
	SourceDir string
	// CacheSize is what both folders may take on the disk together, in bytes; 0 means
	// DefaultCacheSize.
	CacheSize int64
	// Offline makes no requests: only files, and modules that were fetched before, can be loaded.
	Offline bool
	// Policy (optional) says which modules may run.
	Policy *policy.Policy
	// Lock (optional) lists the modules that may be used, except those of plugin folders.
	// Admitted (optional; default Lock) lists those that the policy admitted earlier.
	Lock, Admitted *lock.File
	// Loaded (optional) is called with each module that was loaded.
	Loaded func(*module.Loaded, *module.Reference)
	// Compiler (optional) compiles modules before this process does, as package
	// runtime/wasm/child, so that one that takes long to compile is stopped. SmallCompiler (optional) does it with less memory for
	// modules of up to SmallModule bytes, beside another one.
	Compiler, SmallCompiler sandbox.Compiler
	// Memory is what the plugins of all modules of a scheduler may have together, in bytes; 0
	// means memory.DefaultProcess.
	Memory int64
	// VerifyEvery is as in wasm.Config.
	VerifyEvery int
	// Log (optional) gets what is wrong with the folders.
	Log *slog.Logger
}

// DefaultCacheSize is the default of ModulesConfig.CacheSize. Native code is a few times as large as
// the module that it is made from, so CompiledSize is the larger part.
const DefaultCacheSize = module.DefaultCacheSize + sandbox.DefaultCacheSize

// CompiledSize is the part of a cache of both, in bytes, that is for compiled modules; the rest is
// for fetched ones.
func CompiledSize(both int64) int64 { return both / 4 * 3 }

// Modules loads and compiles the modules that a configuration names, each digest once.
type Modules struct {
	config    ModulesConfig
	sources   *module.Sources
	encodings *encoding.Cache // of all plugins
	// mu guards what follows.
	mu struct {
		sync.Mutex
		runtime  *sandbox.Runtime
		compiled map[string]*compiled // by digest
		recorded map[string]bool      // names of the files in ModulesConfig.Recorded
	}
}

// compiled is a compiled module and the number of its users.
type compiled struct {
	ready  chan struct{} // closed once module or err is set
	module *sandbox.Module
	err    error
	// guarded by the mutex of Modules:
	users  int
	images []string // digests of those that the module is from
}

// Module is a module used as a plugin in a profile.
type Module struct {
	Loaded    *module.Loaded
	Reference module.Reference
	// Share is the part of the pods that the plugin acts on.
	Share state.Share
	// trial is the plugin in shadow whose trial the plugin takes part in; empty if it decides.
	trial string
}

// NewModules returns an empty Modules; Close frees it.
func NewModules(c ModulesConfig) *Modules {
	c.CacheSize = cmp.Or(c.CacheSize, DefaultCacheSize)
	m := &Modules{config: c, encodings: encoding.New()}
	m.sources = module.NewSources(module.SourcesConfig{
		Dir: c.SourceDir, Size: c.CacheSize - CompiledSize(c.CacheSize), InUse: m.inUse, Log: c.Log, Offline: c.Offline,
		Policy: c.Policy, Lock: c.Lock, Admitted: c.Admitted,
	})
	m.mu.compiled, m.mu.recorded = make(map[string]*compiled), make(map[string]bool)
	return m
}

// inUse reports whether there is a plugin of a module, or of an image, of a digest.
func (m *Modules) inUse(digest string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.compiled[digest] != nil {
		return true
	}
	for _, c := range m.mu.compiled {
		if slices.Contains(c.images, digest) {
			return true
		}
	}
	return false
}

// same reports whether two modules make the same plugin.
func (m *Module) same(o *Module) bool {
	a, b := m.Loaded, o.Loaded
	return a.Name == b.Name && a.Digest == b.Digest && bytes.Equal(a.Config, b.Config) && reflect.DeepEqual(a.Grants, b.Grants) &&
		slices.Equal(m.Reference.Namespaces, o.Reference.Namespaces) && m.Reference.Tenant == o.Reference.Tenant &&
		m.Reference.HideSeed == o.Reference.HideSeed && m.Reference.HideGeneration == o.Reference.HideGeneration &&
		reflect.DeepEqual(m.Reference.FailurePolicy, o.Reference.FailurePolicy) && m.Reference.Limits == o.Reference.Limits &&
		m.Reference.Attempts == o.Reference.Attempts && ptr.Equal(m.Reference.MaxPriority, o.Reference.MaxPriority)
}

// start makes the runtime when the first module needs it. Without modules no folder is created.
func (m *Modules) start() error {
	if m.mu.runtime != nil {
		return nil
	}
	var err error
	m.mu.runtime, err = sandbox.NewRuntime(sandbox.RuntimeConfig{
		CacheDir: m.config.CacheDir, CacheOptional: m.config.CacheOptional, CacheSize: CompiledSize(m.config.CacheSize), Log: m.config.Log,
		Compiler: inTurn(m.config.Compiler, m.config.SmallCompiler),
	})
	return err
}

// SmallModule is the most bytes of a module that does not wait for large ones to be compiled.
const SmallModule = 1 << 20

// IsSmall reports whether a module, before it is rewritten, does not wait for large ones to be compiled.
func IsSmall(original []byte) bool { return len(original) <= SmallModule }

// inTurn makes compilers wait for their turns: there is memory to compile one module, and beside it a small one. A small one for
// which that was too little is compiled again as a large one is.
func inTurn(compile, small sandbox.Compiler) sandbox.Compiler {
	compile, small = oneByOne(compile), oneByOne(small)
	if small == nil {
		return compile
	}
	return func(ctx context.Context, job *sandbox.CompileJob) error {
		if IsSmall(job.Original) {
			if err := small(ctx, job); ctx.Err() != nil || !errors.As(err, new(*child.MemoryError)) {
				return err
			}
		}
		return compile(ctx, job)
	}
}

// oneByOne makes a compiler compile one module at a time.
func oneByOne(compile sandbox.Compiler) sandbox.Compiler {
	if compile == nil {
		return nil
	}
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, job *sandbox.CompileJob) error {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		defer func() { <-turn }()
		return compile(ctx, job)
	}
}

// Load reads and checks a module.
func (m *Modules) Load(ref module.Reference) (*Module, error) {
	loaded, err := m.Fetch(context.Background(), ref)
	if err != nil {
		return nil, err
	}
	if m.config.Loaded != nil {
		m.config.Loaded(loaded, &ref)
	}
	m.sources.Keep(loaded)
	return &Module{Loaded: loaded, Reference: ref}, nil
}

// Fetch reads and checks a module that is not part of the configuration. The module is stored once
// a plugin of it is compiled: until then, somebody may refuse it. Several goroutines may call Fetch.
func (m *Modules) Fetch(ctx context.Context, ref module.Reference) (*module.Loaded, error) {
	return m.sources.Load(ctx, ref)
}

// Compile compiles a module and keeps the result until release is called, so that a plugin of it
// starts at once. Several goroutines may call it.
//
// # Errors
//
// The module cannot be compiled.
func (m *Modules) Compile(ctx context.Context, named *Module) (release func(), err error) {
	if _, err := m.take(ctx, named, limitsOf(&named.Reference)); err != nil {
		return nil, err
	}
	return func() { _ = m.give(context.WithoutCancel(ctx), named.Loaded.Digest) }, nil // there is no way to recover
}

// Points implements config.Module: the extension points of a profile at which the module runs.
func (m *Module) Points() []string {
	var out []string
	for _, point := range m.Loaded.Manifest.Declared() {
		switch point { // these belong to other points
		case abi.Hint, abi.AddPod, abi.RemovePod, abi.Normalize, abi.Unreserve:
		case abi.QueueSort: // another plugin has to sort if this one does not
			if m.Reference.Use.Mode == "" {
				out = append(out, configName(point))
			}
		default:
			if name := configName(point); len(m.Reference.Points) == 0 || slices.Contains(m.Reference.Points, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// Enable adds the module to every profile, at the end of each of its points. At bind it comes
// first, because the default binder binds every pod; at queueSort it replaces the plugin there.
//
// # Errors
//
// A profile has a plugin of the same name, or another module sorts the queue.
func (m *Module) Enable(s *config.Scheduler) error {
	name := m.Loaded.Name
	if m.Reference.Weight > 0 && m.Loaded.Manifest.Points.Score == nil {
		return fmt.Errorf("%s: weight: the module has no score; leave the weight out", m.Loaded.Path)
	}
	for i := range s.Profiles {
		p := &s.Profiles[i]
		for point, refs := range p.Points {
			for _, ref := range refs {
				if ref.Name == name {
					return fmt.Errorf("%s: profile %q already has a plugin %q at %s: give the module another name, with ?name= after --plugin or name in the file beside it",
						m.Loaded.Path, p.SchedulerName, name, point)
				}
			}
		}
		for _, point := range m.Points() {
			ref := config.PluginRef{Name: name, Weight: max(1, m.Reference.Weight)}
			switch point {
			case configName(abi.QueueSort):
				for _, other := range p.Points[point] {
					if sorts := moduleOf(p.Args[other.Name]); sorts != nil {
						return fmt.Errorf("%s: %s already sorts the queue, and there is only one queue: leave one of the two out", m.Loaded.Path, sorts.Loaded.Path)
					}
				}
				p.Points[point] = []config.PluginRef{ref}
			case configName(abi.Bind):
				p.Points[point] = append([]config.PluginRef{ref}, p.Points[point]...)
			default:
				p.Points[point] = append(p.Points[point], ref)
			}
		}
		if p.Args == nil {
			p.Args = make(map[string]config.Args)
		}
		p.Args[name] = config.Args{Module: m}
	}
	return nil
}

// publishes is the plugin under whose name others read what this one publishes: the one whose place it takes
// in a trial, or that it is a version of.
func (m *Module) publishes() string {
	if m.Reference.Use.Replaces != "" {
		return m.Reference.Use.Replaces
	}
	plugin, _, _ := strings.Cut(m.Loaded.Name, "@") // as package tenancy names versions; no other name has one
	return plugin
}

// take returns a compiled module for one more user. It holds no lock while it compiles.
func (m *Modules) take(ctx context.Context, named *Module, limits sandbox.Limits) (*sandbox.Module, error) {
	loaded := named.Loaded
	if err := fits(loaded, limits); err != nil {
		return nil, err
	}
	m.mu.Lock()
	code, ok := m.mu.compiled[loaded.Digest]
	if !ok {
		if err := m.start(); err != nil {
			m.mu.Unlock()
			return nil, err
		}
		code = &compiled{ready: make(chan struct{})}
		m.mu.compiled[loaded.Digest] = code
	}
	code.users++
	if loaded.Image != "" && !slices.Contains(code.images, loaded.Image) {
		code.images = append(code.images, loaded.Image)
	}
	runtime := m.mu.runtime
	m.mu.Unlock()
	if ok {
		if <-code.ready; code.err == nil {
			m.sources.Keep(loaded)
		}
		return code.module, code.err
	}
	code.module, code.err = runtime.LoadWith(ctx, loaded.Bytes, limits)
	if code.err == nil {
		close(code.ready)
		m.sources.Keep(loaded)
		return code.module, nil
	}
	code.err = fmt.Errorf("%s: %w", loaded.Path, code.err)
	close(code.ready)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.compiled, loaded.Digest) // the next user tries again
	return nil, code.err
}

// give releases a module; without users it is freed.
func (m *Modules) give(ctx context.Context, digest string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	code, ok := m.mu.compiled[digest]
	if !ok {
		return nil
	}
	if code.users--; code.users > 0 {
		return nil
	}
	delete(m.mu.compiled, digest)
	return code.module.Close(ctx)
}

// Close frees compiled modules. Their plugins must be closed.
func (m *Modules) Close(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, c := range m.mu.compiled {
		if <-c.ready; c.err == nil {
			errs = append(errs, c.module.Close(ctx))
		}
	}
	clear(m.mu.compiled)
	if m.mu.runtime != nil {
		errs = append(errs, m.mu.runtime.Close(ctx))
	}
	return errors.Join(errs...)
}
