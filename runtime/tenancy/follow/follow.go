package follow

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
)

// Compiling is the value of assembly.Attached.NotReady of a plugin whose module is being compiled.
const Compiling = "Compiling"

// How soon a change of objects is acted on, and how long later changes are collected. Without
// changes, everything is looked at again from time to time: keys expire, and failed fetches are
// repeated.
const (
	settle   = 50 * time.Millisecond
	collect  = time.Second
	lookOver = 10 * time.Second
)

// Source has the objects of the API.
type Source interface {
	Objects() *tenancy.Objects
	// Changed has an element when objects have changed.
	Changed() <-chan struct{}
	// AttachedPlugins returns a function that is called when the scheduler knows the plugins of the Objects that are
	// asked for after it: pods that were kept for them go to the scheduler then.
	AttachedPlugins() (known func())
	// PluginConfig reads the configuration of one of the Objects that has it omitted. It fails if the configuration is another by now.
	PluginConfig(ctx context.Context, p *v1alpha1.TenantPlugin) (*v1alpha1.Config, error)
}

// Scheduler runs attached plugins: an *assembly.Assembly.
type Scheduler interface {
	Attach(ctx context.Context, all []assembly.Attached) (refused map[string]error, err error)
	Status() assembly.Status
	Trials() []shadow.Report
	// HeldBack says by namespace what keeps its pods from being tried, or from having others make room.
	HeldBack(ctx context.Context) map[string]string
}

// Modules gets what is to run: an *assembly.Modules.
type Modules interface {
	Fetch(ctx context.Context, ref module.Reference) (*module.Loaded, error)
	Compile(ctx context.Context, m *assembly.Module) (release func(), err error)
}

// Config is what a Follower needs to know.
type Config struct {
	// Taken are the names of plugins in the profiles of the configuration.
	Taken []string
	// Stopped are plugins that do not run, whatever their objects say. Their rollouts stay at their steps.
	Stopped tenancy.Stopped
}

// Deps connects a Follower.
type Deps struct {
	Source    Source
	Scheduler Scheduler
	Modules   Modules
	Writer    Writer
	// Meter observes the scheduler; nil for one that sees nothing.
	Meter *Meter
	Clock clock.Clock // optional: the machine's if nil
	// Running (optional) is told by each Sync what runs then.
	Running func(assembly.Status)
	Log     *slog.Logger // optional
	// Panicked (optional) is told of each panic that was stopped. It logs it, too.
	Panicked func(*plugin.Panic)
}

// Follower keeps a scheduler's attached plugins as the objects of the API say.
type Follower struct {
	config  Config
	deps    Deps
	configs *queue[*v1alpha1.TenantPlugin, *v1alpha1.Config] // that objects have omitted
	fetch   *queue[module.Reference, *module.Loaded]
	compile *queue[code, func()]
	ready   chan struct{} // has an element when something was fetched or compiled
	synced  chan struct{} // likewise when Sync has changed what Report says

	shared  shared
	decoded tenancy.Configs // of judge
	syncing sync.Mutex      // is held by Sync, and taken before told
	told    struct {
		sync.Mutex
		result *Result
	}
}

// Result is the plugins that run, and the state of each object.
type Result struct {
	*tenancy.Result
	// Attached are the plugins, in the order of Plugins, that were passed to the scheduler or are kept
	// ready for it. Refused
	// says by name why some of them cannot run.
	Attached []assembly.Attached
	Refused  map[string]error
	// Since is when each module that runs was attached, by the plugin's name.
	Since map[string]time.Time
}

// New returns a Follower that follows nothing yet.
func New(config Config, deps Deps) *Follower {
	if deps.Clock == nil {
		deps.Clock = clock.Real{}
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Meter == nil {
		deps.Meter = &Meter{}
	}
	f := &Follower{config: config, deps: deps, ready: make(chan struct{}, 1), synced: make(chan struct{}, 1)}
	f.newQueues()
	f.told.result = &Result{Result: &tenancy.Result{}}
	return f
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run follows the objects until the context ends. It returns when nothing is being fetched or
// compiled any more.
func (f *Follower) Run(ctx context.Context) {
	defer f.compile.wait()
	defer f.fetch.wait()
	defer f.configs.wait()
	synced := f.deps.Clock.Now()
	for f.await(ctx, f.deps.Source.Changed(), f.deps.Clock.Now().Add(lookOver)) && f.settled(ctx) {
		for next := synced.Add(collect); f.deps.Clock.Now().Before(next); {
			_ = f.guard(func() {
				f.syncing.Lock()
				defer f.syncing.Unlock()
				f.judge(ctx) // so that modules are fetched and compiled meanwhile
			})
			if !f.await(ctx, nil, next) || !f.settled(ctx) {
				return
			}
		}
		synced = f.deps.Clock.Now()
		_ = f.Sync(ctx) // it was logged, and is tried again
	}
}

// await waits for a change, for a module, or for a time. It reports whether one of them came
// before the context ended.
func (f *Follower) await(ctx context.Context, changed <-chan struct{}, until time.Time) bool {
	reached, stop := f.deps.Clock.Until(until)
	defer stop()
	select {
	case <-changed:
	case <-f.ready:
	case <-reached:
	case <-ctx.Done():
		return false
	}
	return true
}

// settled lets a moment pass, in which more may change.
func (f *Follower) settled(ctx context.Context) bool {
	return f.sleep(ctx, f.deps.Clock.Now().Add(settle))
}

// sleep reports whether the time came before the context ended.
func (f *Follower) sleep(ctx context.Context, until time.Time) bool {
	reached, stop := f.deps.Clock.Until(until)
	defer stop()
	select {
	case <-reached:
		return true
	case <-ctx.Done():
		return false
	}
}

// Sync brings the scheduler's plugins up to date with the objects as they are now. Modules that
// have yet to be fetched or compiled do not run when it returns. If they cannot run together, those
// that run already stay, and pods wait for the others.
//
// # Errors
//
// The scheduler has its earlier plugins. Pods that are newer than a new plugin stay with the Source.
func (f *Follower) Sync(ctx context.Context) (err error) {
	if caught := f.guard(func() { err = f.sync(ctx) }); caught != nil {
		return caught
	}
	return err
}

// guard keeps the scheduler running if something panics about the objects of the API: the plugins stay as they are.
func (f *Follower) guard(call func()) error {
	return plugin.Guard(plugin.InConversion, "the plugins of the API", f.deps.Panicked, call)
}

func (f *Follower) sync(ctx context.Context) error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	now := f.deps.Clock.Now()
	known := f.deps.Source.AttachedPlugins()
	resolved, all, failed := f.judge(ctx)
	refused, err := f.deps.Scheduler.Attach(ctx, deciding(resolved, all))
	if err != nil && ctx.Err() == nil {
		f.deps.Log.Error("plugins of the API could not be changed; retrying", "error", err)
		f.hold(all, failed)
		refused, err = f.deps.Scheduler.Attach(ctx, deciding(resolved, all))
	}
	if err != nil {
		return err
	}
	known()
	maps.Copy(failed, refused)
	before := f.Result()
	next := &Result{Result: resolved, Attached: all, Refused: failed, Since: make(map[string]time.Time)}
	for i := range all {
		x := &all[i]
		if x.Module == nil || failed[x.Name] != nil {
			continue
		}
		next.Since[x.Name] = now
		if since, ok := before.Since[x.Name]; ok && before.digest(x.Name) == x.Module.Loaded.Digest {
			next.Since[x.Name] = since
		}
	}
	f.told.Lock()
	f.told.result = next
	f.told.Unlock()
	signal(f.synced)
	if f.deps.Running != nil {
		f.deps.Running(f.deps.Scheduler.Status())
	}
	return nil
}

// errTogether does not say which plugin is at fault: it may be that of another tenant.
var errTogether = errors.New("the scheduler cannot run this plugin together with the others: see the scheduler's log")

// hold lets the pods of all plugins wait that do not run yet as they should.
func (f *Follower) hold(all []assembly.Attached, failed map[string]error) {
	before := f.Result()
	for i := range all {
		if x := &all[i]; x.Module != nil && !before.runs(x) {
			x.Module, x.NotReady, failed[x.Name] = nil, assembly.Refused, errTogether
		}
	}
}

// runs reports whether a plugin was attached as it is now, and runs.
func (r *Result) runs(x *assembly.Attached) bool {
	i := slices.IndexFunc(r.Attached, func(o assembly.Attached) bool { return o.Name == x.Name && o.Module != nil })
	if i < 0 || r.Refused[x.Name] != nil || r.Plugins[i].Ready {
		return false
	}
	o := &r.Attached[i]
	return o.Share == x.Share && o.Holds == x.Holds && slices.Equal(o.Namespaces, x.Namespaces) && o.Module.Loaded.Digest == x.Module.Loaded.Digest &&
		bytes.Equal(o.Module.Loaded.Config, x.Module.Loaded.Config) && reflect.DeepEqual(o.Module.Reference, x.Module.Reference)
}

// judge decides what is to run, and has modules fetched and compiled. failed says by name which
// plugins cannot run. The caller holds f.syncing.
func (f *Follower) judge(ctx context.Context) (resolved *tenancy.Result, all []assembly.Attached, failed map[string]error) {
	for _, forget := range []func(){f.configs.forget, f.fetch.forget, f.compile.forget} {
		defer forget()
	}
	resolved = tenancy.Resolve(f.deps.Source.Objects(), tenancy.Config{
		Load: func(ref module.Reference, grant string) (*module.Loaded, error) { return f.load(ctx, ref, grant) },
		Read: func(p *v1alpha1.TenantPlugin, plugin, grant string) (*v1alpha1.Config, error) {
			return f.readConfig(ctx, p, plugin, grant)
		},
		Now: f.deps.Clock.Now(), Taken: f.config.Taken, Stopped: f.config.Stopped, Most: assembly.MaxAttached,
		Configs: &f.decoded,
	})
	for i := range resolved.Plugins {
		if p := &resolved.Plugins[i]; p.Refusal != nil && p.Refusal.Reason == tenancy.ModuleNotGranted {
			f.fetch.repeat(p.Reference.Tenant, p.Name) // it may be signed later
		}
	}
	f.shared.keep(resolved)
	all, failed = attachments(resolved), make(map[string]error)
	for i := range all {
		if err := f.compiled(ctx, resolved.Plugins[i].Grant, &all[i]); err != nil {
			failed[all[i].Name] = err
		}
	}
	f.configs.resume(ctx)
	f.fetch.resume(ctx)
	return resolved, all, failed
}

// digest returns that of an attached module; empty if there is none.
func (r *Result) digest(name string) string {
	for i := range r.Attached {
		if x := &r.Attached[i]; x.Name == name && x.Module != nil {
			return x.Module.Loaded.Digest
		}
	}
	return ""
}

// Result returns what the last Sync made of the objects. It must not be changed.
func (f *Follower) Result() *Result {
	f.told.Lock()
	defer f.told.Unlock()
	return f.told.result
}

// Attachments are the plugins for a scheduler.
func Attachments(r *tenancy.Result) []assembly.Attached { return deciding(r, attachments(r)) }

// deciding leaves out those that are only kept ready.
func deciding(r *tenancy.Result, all []assembly.Attached) (out []assembly.Attached) {
	for i := range all {
		if !r.Plugins[i].Ready {
			out = append(out, all[i])
		}
	}
	return out
}

// attachments are all, in the order of Plugins.
func attachments(r *tenancy.Result) (out []assembly.Attached) {
	for i := range r.Plugins {
		p := &r.Plugins[i]
		x := assembly.Attached{Name: p.Name, Holds: p.Holds, Namespaces: p.Namespaces, Share: p.Share}
		if p.Refusal != nil {
			x.NotReady = p.Refusal.Reason
		} else {
			x.Module = &assembly.Module{Loaded: p.Module, Reference: p.Reference, Share: p.Share}
		}
		out = append(out, x)
	}
	return out
}

// refusal says why a plugin does not run; nil if it does.
func (r *Result) refusal(i int) *tenancy.Refusal {
	p, x := &r.Plugins[i], &r.Attached[i]
	switch err := r.Refused[p.Name]; {
	case p.Refusal != nil:
		return p.Refusal
	case err != nil:
		text := err.Error()
		if full := (*memory.Full)(nil); errors.As(err, &full) && p.Kind == v1alpha1.KindTenantPlugin { // it names plugins of others
			text = "the scheduler has no memory left for the plugin: ask the platform team, which sets --plugin-memory and memoryPerPlugin of grants"
		}
		reason := assembly.Refused
		if x.NotReady == Compiling {
			reason = Compiling
		}
		return &tenancy.Refusal{Reason: reason, Message: plain.Line(text, maxMessage)}
	case x.Module == nil:
		return &tenancy.Refusal{Reason: x.NotReady, Message: "the module is being compiled"}
	}
	return nil
}

// maxMessage is the maximum size of a message in a status, in bytes.
const maxMessage = 2 << 10
