package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// moduleDeps are the dependencies of module plugins.
type moduleDeps struct {
	binder    objects.Binder
	namespace func(name string) *state.Namespace
	recovered func(plugin string)
	bucket    *wasm.FuelBucket
	process   *memory.Process // memory of the scheduler's plugins
	replaces  replaced
	clock     clock.Clock
	log       *slog.Logger
	// replayed plugins end calls where a recording says, and overrun and overran are as in wasm.Deps.
	replayed bool
	overrun  func(*wasm.Overrun) bool
	overran  func(*wasm.Overrun)
}

// maxShards is how many instances share the nodes of a plugin at most. More would rarely run at once, and each costs a start.
const maxShards = 8

// plugin makes the plugin of a module for one profile.
func (m *Modules) plugin(ctx context.Context, named *Module, kept bool, d *moduleDeps) (*madePlugin, error) {
	loaded := named.Loaded
	limits := limitsOf(&named.Reference)
	if d.replayed {
		limits.Deadline = math.MaxInt64 // a replay ends the calls that were ended, however slow it is
	}
	unload, err := load(d.process, loaded, d.replaces.digest)
	if err != nil {
		return nil, err
	}
	code, err := m.take(ctx, named, limits)
	if err != nil {
		unload()
		return nil, err
	}
	policies := make(map[abi.Point]fault.Policy)
	for _, point := range loaded.Manifest.Declared() {
		policies[point] = fault.Fail
		if named.Reference.FailurePolicy.For(point) == v1alpha1.Ignore {
			policies[point] = fault.Ignore
		}
	}
	var opens breaker.Config
	if named.Reference.Tenant != "" {
		opens = breaker.OfTenant()
	}
	p, err := wasm.New(ctx, wasm.Config{
		Name: loaded.Name, Publishes: named.publishes(), Config: loaded.Config, Namespaces: named.Reference.Namespaces,
		Policies: policies, Shards: maxShards, Kept: kept, VerifyEvery: m.config.VerifyEvery, Grants: loaded.Grants,
		Limits: limits, HideSeed: named.Reference.HideSeed, HideGeneration: named.Reference.HideGeneration, Breaker: opens,
		Budget: plugin.Budget(named.Reference.Attempts), MaxPriority: named.Reference.MaxPriority,
	}, wasm.Deps{Factory: code, Manifest: loaded.Manifest, Binder: d.binder, Namespace: d.namespace, Clock: d.clock, Bucket: d.bucket,
		Log: d.log, Encodings: m.encodings, Process: d.process, Replaces: d.replaces.plugin, Recovered: func() { d.recovered(loaded.Name) },
		Overrun: d.overrun, Overran: d.overran})
	if err == nil {
		if err = d.process.Grow(loaded.Digest, code.Memory()); err != nil {
			err = errors.Join(err, p.Close(ctx))
		}
	}
	if err != nil {
		defer unload()
		return nil, errors.Join(fmt.Errorf("%s: %w", loaded.Path, err), m.give(ctx, loaded.Digest))
	}
	return &madePlugin{plugin: p, args: named, close: func(ctx context.Context) error {
		defer unload()
		return errors.Join(p.Close(ctx), m.give(ctx, loaded.Digest))
	}}, nil
}

// replaced is the plugin whose place another one takes.
type replaced struct {
	plugin *wasm.Plugin // nil if there is none
	digest string       // of its module, if that is used no more; empty otherwise
}

// load counts a module's bytes and machine code as memory of the process, until unload is called.
func load(process *memory.Process, l *module.Loaded, replaces string) (unload func(), err error) {
	if err := process.Load(l.Digest, sandbox.MemoryOf(l.Module), replaces); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Path, err)
	}
	return func() { process.Unload(l.Digest) }, nil
}

// fits refuses a module that alone takes more memory than its plugin may have, before it is compiled.
func fits(l *module.Loaded, limits sandbox.Limits) error {
	if size, most := sandbox.MemoryOf(l.Module), limits.WithDefaults().TotalMemory; size > most {
		return fmt.Errorf("%s: the module and its machine code take %d bytes, and limits.memoryTotal is %d: raise it, or make the module smaller",
			l.Path, size, most)
	}
	return nil
}

// limitsOf translates what a user wrote. A plugin of some namespaces has no more fuel than a grant gives, unless it says so: while it
// is called, pods of all others wait.
func limitsOf(r *module.Reference) sandbox.Limits {
	l := r.Limits
	if r.Namespaces != nil && l.FuelPerCall|l.FuelPerRow|l.FuelPerCycle|l.FuelPerCycleRow == 0 {
		l.FuelPerCall, l.FuelPerRow = module.GrantedFuelPerPod, module.GrantedFuelPerNode
		l.FuelPerCycle, l.FuelPerCycleRow = l.FuelPerCall, l.FuelPerRow
	}
	return sandbox.Limits{
		FuelBase: l.FuelPerCall, FuelPerRow: l.FuelPerRow, FuelPerCycle: l.FuelPerCycle, FuelPerCycleRow: l.FuelPerCycleRow,
		FuelStart: l.FuelStart, FuelRestarts: l.FuelRestarts,
		Deadline: l.Deadline, OwnMemory: l.Memory, TotalMemory: l.MemoryTotal, Depth: l.Depth, TableElements: l.TableElements,
		ModuleSize: l.ModuleSize, Functions: l.Functions, Globals: l.Globals, Locals: l.Locals, Nesting: l.Nesting,
		StateSize: l.StateSize, TextSize: l.ReasonSize, DirectiveSize: l.DirectiveSize, LogSize: l.LogSize,
	}
}
