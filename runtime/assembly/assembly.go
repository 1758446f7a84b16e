// Package assembly is the composition root: the one place that makes plugins,
// pipelines and the scheduler out of a configuration and wires them together.
package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Config is what a scheduler is made of.
type Config struct {
	// Scheduler is the profiles; nil means Default().
	Scheduler *config.Scheduler
	// Plugins (optional) can be named in profiles besides the native ones, and
	// instead of those of the same name.
	Plugins plugin.Registry
	// Modules (optional) makes the plugins whose args are a *Module.
	Modules *Modules
	// Seed is the source of all randomness.
	Seed uint64
	// TieBreak chooses among nodes of equal score.
	TieBreak cycle.TieBreak
	// Rank orders nodes for the tie-break by first node: the smallest wins. Nil
	// means an order that depends on the seed alone.
	Rank func(node string) uint64
	// Candidates is how many of the best nodes an attempt lists; 0 means 5.
	Candidates int
	// Workers evaluate blocks of nodes side by side; 0 means as many as there
	// are CPUs, but no more than the configuration's parallelism. Decisions do
	// not depend on it.
	Workers int
	// AllowUnenforced is features that pods may ask for although no enabled
	// plugin enforces them.
	AllowUnenforced state.Feature
}

// Deps is what the scheduler is connected to.
type Deps struct {
	Clock       clock.Clock
	Binder      objects.Binder
	Services    objects.Services    // optional: nil if there are none
	Controllers objects.Controllers // optional: nil if there are none
	Outlet      scheduler.Outlet
	Observer    scheduler.Observer // optional
	Log         *slog.Logger       // optional
	Spawn       func(run func())   // optional, see scheduler.Deps
}

// Assembly is a scheduler and what must be closed with it.
type Assembly struct {
	Scheduler *scheduler.Scheduler
	// Profiles is the names of the profiles in configured order.
	Profiles []string

	workers *pipeline.Workers
	closers []func(context.Context) error
}

// Default returns a new copy of what an absent configuration file means.
func Default() *config.Scheduler { return config.Default(Catalog()) }

// New makes the scheduler.
func New(c Config, d Deps) (*Assembly, error) {
	if c.Scheduler == nil {
		c.Scheduler = Default()
	}
	if len(c.Scheduler.Extenders) > 0 {
		// Left out, they would let pods onto nodes that they refuse.
		return nil, errors.New("extenders: HTTP extenders are not built yet; remove them from the configuration")
	}
	if c.Workers == 0 {
		c.Workers = min(runtime.GOMAXPROCS(0), int(c.Scheduler.Parallelism))
	}
	if c.Rank == nil {
		c.Rank = func(node string) uint64 { return mix(c.Seed, node) }
	}
	workers, err := pipeline.NewWorkers(c.Workers)
	if err != nil {
		return nil, err
	}
	a := &Assembly{workers: workers}
	registry := hostplugins.All(hostplugins.Deps{Binder: d.Binder, Services: d.Services, Controllers: d.Controllers})
	maps.Copy(registry, c.Plugins)
	var pipelines []*pipeline.Pipeline
	for i := range c.Scheduler.Profiles {
		profile := &c.Scheduler.Profiles[i]
		p, err := a.newPipeline(&c, profile, registry, d.Log)
		if err != nil {
			a.Close()
			return nil, err
		}
		pipelines = append(pipelines, p)
		a.Profiles = append(a.Profiles, profile.SchedulerName)
	}
	queues := queue.DefaultConfig()
	queues.InitialBackoff, queues.MaxBackoff = c.Scheduler.PodInitialBackoff, c.Scheduler.PodMaxBackoff
	a.Scheduler, err = scheduler.New(
		scheduler.Config{
			Seed: c.Seed, Queue: queues,
			Cycle: cycle.Config{TieBreak: c.TieBreak, Candidates: c.Candidates},
			Cache: cache.Config{Rank: c.Rank},
		},
		scheduler.Deps{Clock: d.Clock, Pipelines: pipelines, Outlet: d.Outlet, Observer: d.Observer, Log: d.Log, Spawn: d.Spawn},
	)
	if err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close stops what runs beside the scheduler, which must have stopped.
func (a *Assembly) Close() {
	a.workers.Close()
	for _, closer := range a.closers {
		_ = closer(context.Background()) // nothing is left to be done about it
	}
}

// newPlugin makes a plugin by its args: of a module, or of the registry.
func (a *Assembly) newPlugin(c *Config, name string, args any, registry plugin.Registry, log *slog.Logger) (plugin.Plugin, error) {
	named, ok := args.(*Module)
	if !ok {
		return registry.New(name, args)
	}
	if c.Modules == nil {
		return nil, fmt.Errorf("BUG: plugin %q is a module and there are no Modules", name)
	}
	p, err := c.Modules.plugin(context.Background(), named, c.Workers, log)
	if err != nil {
		return nil, err
	}
	if closer, ok := p.(interface{ Close(context.Context) error }); ok {
		a.closers = append(a.closers, closer.Close)
	}
	return p, nil
}

// newPipeline makes the plugins of a profile, each once, and their pipeline.
func (a *Assembly) newPipeline(c *Config, profile *config.Profile, registry plugin.Registry, log *slog.Logger) (*pipeline.Pipeline, error) {
	made := make(map[string]plugin.Plugin)
	points := make(map[abi.Point][]pipeline.Entry)
	known := 0
	for _, point := range abi.Points() {
		refs, ok := profile.Points[configName(point)]
		if ok {
			known++
		}
		for _, ref := range refs {
			p, ok := made[ref.Name]
			if !ok {
				var err error
				if p, err = a.newPlugin(c, ref.Name, profile.Args[ref.Name].Typed, registry, log); err != nil {
					return nil, fmt.Errorf("profile %q: %w", profile.SchedulerName, err)
				}
				made[ref.Name] = p
			}
			points[point] = append(points[point], pipeline.Entry{Plugin: p, Weight: int64(ref.Weight)})
		}
	}
	if known != len(profile.Points) {
		return nil, fmt.Errorf("BUG: profile %q has a point that is none among %q", profile.SchedulerName, slices.Sorted(maps.Keys(profile.Points)))
	}
	percentage := profile.PercentageOfNodesToScore
	if percentage == nil {
		percentage = c.Scheduler.PercentageOfNodesToScore
	}
	return pipeline.New(pipeline.Config{
		Profile: profile.SchedulerName, Points: points,
		AllowUnenforced: c.AllowUnenforced, Percentage: percentage,
	}, pipeline.Deps{Workers: a.workers})
}

// configName is a point's name in a configuration file, which begins with a
// small letter.
func configName(point abi.Point) string {
	name := point.String()
	return strings.ToLower(name[:1]) + name[1:]
}

// mix hashes a node name with the seed (FNV-1a, finished by a splitmix64 step).
func mix(seed uint64, name string) uint64 {
	x := seed ^ 0xcbf29ce484222325
	for i := range len(name) {
		x = (x ^ uint64(name[i])) * 0x100000001b3
	}
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
