package assembly

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// built is the plugins of a profile and their pipeline.
type built struct {
	profile  config.Profile
	plugins  map[string]*madePlugin
	pipeline *pipeline.Pipeline
}

// has reports whether a plugin belongs to the profile.
func (b *built) has(info *plugin.Info) bool {
	for _, p := range b.plugins {
		if p.plugin.Info() == info {
			return true
		}
	}
	return false
}

// retire frees what the plugins that another set of the profile lacks have for scheduling cycles.
func (b *built) retire(next *built) {
	for name, made := range b.plugins {
		if p, ok := made.plugin.(*wasm.Plugin); ok && next.plugins[name] != made {
			p.Retire()
		}
	}
}

// madePlugin is a plugin and what it was made from.
type madePlugin struct {
	plugin plugin.Plugin
	args   any // *Module, typed args, or nil
	// close frees the plugin; nil if there is nothing to free.
	close func(context.Context) error
}

// same reports whether args would make the same plugin.
func (m *madePlugin) same(args any) bool {
	a, ok := m.args.(*Module)
	b, also := args.(*Module)
	if ok && also {
		return a.same(b)
	}
	return ok == also && reflect.DeepEqual(m.args, args)
}

// build makes the pipelines of a configuration. It reuses plugins of old pipelines that are the
// same. If it fails, it closes what it made.
func (a *Assembly) build(ctx context.Context, s *config.Scheduler, old []*built) ([]*built, error) {
	registry := hostplugins.All(hostplugins.Deps{
		Binder: a.deps.Binder, Budgets: a.deps.Budgets, Storage: a.deps.Storage,
		Devices: a.deps.Devices, Search: search{&a.deps, newNumbers[string](&a.events)}, Now: a.clock.Now, Wall: a.deps.Clock.Now,
		Services: a.deps.Services, Controllers: a.deps.Controllers, Release: a.config.Kubernetes,
		CompareTolerations: a.config.CompareTolerations(), ResizePreemption: a.config.Gates.On(config.ResizePreemption),
	})
	maps.Copy(registry, a.config.Plugins)
	registry[HoldName] = newHold
	if a.config.Feeds != nil { // otherwise nothing is known of them
		registry[RequireName] = newRequire(func(feed string) uint8 { return a.Scheduler.FeedState(feed) })
		s = require(s)
	}
	var out []*built
	var refused refusals
	for i := range s.Profiles {
		profile := &s.Profiles[i]
		var before *built
		if at := slices.IndexFunc(old, func(b *built) bool { return b.profile.SchedulerName == profile.SchedulerName }); at >= 0 {
			before = old[at]
		}
		if b := a.buildProfile(ctx, s, profile, a.withFramework(registry, profile.SchedulerName, s.Parallelism), before, &refused); b != nil {
			out = append(out, b)
		}
	}
	if len(refused.errs) > 0 {
		for _, b := range out {
			a.closing.release(b)
		}
		return nil, errors.Join(refused.errs...)
	}
	return out, nil
}

// refusals collects the errors of a configuration, to report them together. A plugin that
// several profiles share is reported once.
type refusals struct {
	errs    []error
	plugins map[string][]*madePlugin // by name
}

// has reports whether the plugin has already failed.
func (r *refusals) has(name string, args any) bool {
	return slices.ContainsFunc(r.plugins[name], func(m *madePlugin) bool { return m.same(args) })
}

func (r *refusals) add(name string, args any, err error) {
	if r.plugins == nil {
		r.plugins = make(map[string][]*madePlugin)
	}
	r.plugins[name] = append(r.plugins[name], &madePlugin{args: args})
	r.errs = append(r.errs, err)
}

// buildProfile makes the plugins of a profile, each once, and their pipeline. An unchanged
// profile keeps its pipeline. It returns nil if something is refused.
func (a *Assembly) buildProfile(
	ctx context.Context, s *config.Scheduler, profile *config.Profile, registry plugin.Registry, old *built, refused *refusals,
) *built {
	b := &built{profile: *profile, plugins: make(map[string]*madePlugin)}
	whole := true
	fail := func(err error) *built {
		a.closing.release(b)
		refused.errs = append(refused.errs, err)
		return nil
	}
	for _, point := range abi.Points() {
		for _, ref := range profile.Points[configName(point)] {
			if _, ok := b.plugins[ref.Name]; ok {
				continue
			}
			given := profile.Args[ref.Name]
			args := argsOf(given, s.Extenders)
			if refused.has(ref.Name, args) {
				whole = false
				continue
			}
			made, err := a.newPlugin(ctx, s, profile.SchedulerName, ref.Name, args, registry, old)
			if err != nil {
				refused.add(ref.Name, args, fmt.Errorf("profile %q: %s%w", profile.SchedulerName, given.Position, err))
				whole = false
				continue
			}
			b.plugins[ref.Name] = made
			a.closing.hold(made)
		}
	}
	if !whole {
		a.closing.release(b)
		return nil
	}
	if a.config.compiles() {
		if err := profile.Settle(a.compiledIn(b)); err != nil {
			return fail(err)
		}
	}
	points, err := a.entries(b)
	if err != nil {
		return fail(err)
	}
	if old != nil && old.unchanged(b) {
		b.pipeline = old.pipeline
		return b
	}
	percentage := profile.PercentageOfNodesToScore
	if percentage == nil {
		percentage = s.PercentageOfNodesToScore
	}
	b.pipeline, err = pipeline.New(pipeline.Config{
		Profile: profile.SchedulerName, Points: points,
		AllowUnenforced: a.config.AllowUnenforced | features(profile.AllowUnenforced), Percentage: percentage,
	}, pipeline.Deps{Workers: a.workers, Broken: a.broken, Panicked: a.Panicked})
	if err != nil {
		return fail(err)
	}
	return b
}

// argsOf returns what a plugin is made from: its module, or what its factory takes.
func argsOf(given config.Args, extenders []configv1.Extender) any {
	switch {
	case given.Module != nil:
		return given.Module
	case given.Spec != nil:
		return given.Spec // nobody has loaded it
	case given.Typed != nil:
		return leaveToExtenders(given.Typed, extenders)
	case given.Raw != nil:
		return given.Raw
	}
	return nil
}

// features is the set of features with these names, which the configuration has checked.
func features(names []string) (set state.Feature) {
	for _, name := range names {
		f, _ := state.ParseFeature(name)
		set |= f
	}
	return set
}

// entries returns the plugins of a settled profile by point.
func (a *Assembly) entries(b *built) (map[abi.Point][]pipeline.Entry, error) {
	points := make(map[abi.Point][]pipeline.Entry)
	if a.extenders != nil {
		points[abi.Bind] = append(points[abi.Bind], pipeline.Entry{Plugin: a.extenders.Binder()})
	}
	known := 0
	for _, point := range abi.Points() {
		refs, ok := b.profile.Points[configName(point)]
		if ok {
			known++
		}
		for _, ref := range refs {
			points[point] = append(points[point], pipeline.Entry{Plugin: b.plugins[ref.Name].plugin, Weight: int64(ref.Weight), Share: b.share(ref.Name)})
		}
	}
	if known != len(b.profile.Points) {
		return nil, fmt.Errorf("BUG: profile %q has an unknown point among %q", b.profile.SchedulerName, slices.Sorted(maps.Keys(b.profile.Points)))
	}
	return points, nil
}

// unchanged reports whether a profile has the same plugins in the same places.
func (b *built) unchanged(o *built) bool {
	same := maps.EqualFunc(b.plugins, o.plugins, func(x, y *madePlugin) bool { return x.plugin == y.plugin })
	for name := range b.plugins {
		same = same && b.share(name) == o.share(name)
	}
	return same && reflect.DeepEqual(b.profile.Points, o.profile.Points) &&
		reflect.DeepEqual(b.profile.PercentageOfNodesToScore, o.profile.PercentageOfNodesToScore)
}

// share returns the part of the pods that a plugin acts on.
func (b *built) share(name string) state.Share {
	if m := moduleOf(b.profile.Args[name]); m != nil {
		return m.Share
	}
	return state.Share{}
}

// newPlugin makes a plugin from its args: from a module, or with the registry. It reuses an
// existing plugin that is the same.
func (a *Assembly) newPlugin(
	ctx context.Context, s *config.Scheduler, profile, name string, args any, registry plugin.Registry, old *built,
) (*madePlugin, error) {
	if old != nil {
		if made, ok := old.plugins[name]; ok && made.same(args) {
			return made, nil
		}
	}
	named, ok := args.(*Module)
	if _, instead := a.config.Plugins[name]; !ok || instead {
		if _, bare := args.(*v1alpha1.WasmPluginArgs); bare && !instead {
			return nil, fmt.Errorf("BUG: the module of plugin %q is not loaded", name)
		}
		p, err := registry.New(name, args)
		made := &madePlugin{plugin: p, args: args}
		if closer, ok := p.(io.Closer); ok {
			made.close = func(context.Context) error { return closer.Close() }
		}
		return made, err
	}
	if a.config.Modules == nil {
		return nil, fmt.Errorf("BUG: plugin %q is a module, but Modules is nil", name)
	}
	if err := undeclared(named.Loaded.Manifest.Reads.Feeds, a.config.Feeds); err != nil {
		return nil, fmt.Errorf("%s: %w", named.Loaded.Path, err)
	}
	deps := moduleDeps{
		binder: a.deps.Binder, clock: a.clock, log: a.logger(profile), bucket: a.bucket(profile, named), process: a.process,
		// Plugins are made before the scheduler, and call this while it runs.
		namespace: func(name string) *state.Namespace { return a.Scheduler.Namespace(name) },
		recovered: func(plugin string) { a.Scheduler.ReleasePlugin(plugin) },
	}
	if named.trial != "" {
		deps.process, deps.recovered = a.trials, func(string) {}
		if deps.log != nil {
			deps.log = deps.log.With("shadow", named.trial)
		}
	} else {
		deps.replaces = a.replaced(s, profile, name)
		deps.replayed = a.deps.Overrun != nil
		deps.overrun, deps.overran = a.overruns(profile, name)
	}
	return a.config.Modules.plugin(ctx, named, !a.config.Reuse.Off(), &deps)
}

// replaced returns the running plugin whose place one of a configuration takes.
func (a *Assembly) replaced(s *config.Scheduler, profile, name string) (out replaced) {
	for _, b := range a.mu.built {
		made := b.plugins[name]
		if made == nil || b.profile.SchedulerName != profile {
			continue
		}
		if out.plugin, _ = made.plugin.(*wasm.Plugin); out.plugin == nil {
			return out
		}
		out.digest = made.module().Loaded.Digest
	}
	for i := range s.Profiles {
		for _, args := range s.Profiles[i].Args {
			if m := moduleOf(args); m != nil && m.Loaded.Digest == out.digest {
				out.digest = "" // it is not returned
			}
		}
	}
	return out
}

// logger returns the logger of a profile's plugins.
func (a *Assembly) logger(profile string) *slog.Logger {
	if a.deps.Log == nil {
		return nil
	}
	return a.deps.Log.With("profile", profile)
}

// bucket returns the fuel bucket of a tenant. A tenant is the set of namespaces that a plugin
// applies to in a profile. What a tenant attaches itself does not share with the platform's
// plugins for the tenant.
func (a *Assembly) bucket(profile string, m *Module) *wasm.FuelBucket {
	key := m.trial + "/" + profile + "/" + m.Reference.Tenant + "/" + strings.Join(m.Reference.Namespaces, ",")
	if a.buckets == nil {
		a.buckets = make(map[string]*wasm.FuelBucket)
	}
	b, ok := a.buckets[key]
	if !ok {
		b = wasm.NewFuelBucket()
		a.buckets[key] = b
	}
	return b
}

// errProfiles says that the set of profiles is fixed while the scheduler runs.
var errProfiles = errors.New("profiles cannot be added, removed or renamed while the scheduler runs; restart it")
