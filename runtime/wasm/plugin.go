package wasm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/encoding"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

// Config is how a plugin is used.
type Config struct {
	// Name is the plugin's name in a profile.
	Name string
	// Config is the plugin's configuration as JSON, valid by the manifest's
	// schema; empty means {}.
	Config []byte
	// Namespaces are those whose pods the plugin is for; none means all. It sees
	// no pods of others, and has no opinion about them.
	Namespaces []string
	// Grants is the directives that the plugin may use, which must cover those that
	// the manifest declares.
	Grants wire.ManifestDirectives
	// Policies is what a fault means, for points that differ from DefaultPolicy.
	Policies map[abi.Point]fault.Policy
	// Shards is in how many instances the nodes of a plugin of scope node are
	// held at most, usually one a worker; 0 means 1.
	Shards int
	// CrashOnBug lets a mistake of the host end the process, as tests want it,
	// instead of becoming a fault.
	CrashOnBug bool
	// Limits are what the guest may use.
	Limits Limits
	// Breaker is when the plugin is left alone because it fails.
	Breaker breaker.Config
	// VerifyEvery is after how many calls of an instance its columns are checked
	// for writes by the guest: 1 for every call, 0 for never.
	VerifyEvery int
}

// Deps is what a plugin works with.
type Deps struct {
	Factory  Factory
	Manifest *wire.Manifest
	// Bucket (optional) is the fuel that the plugin shares with others of its tenant;
	// nil for one of its own.
	Bucket *FuelBucket
	// Process (optional) is the memory that the plugin shares with the others of the
	// process; nil for as much as its limits say.
	Process *memory.Process
	// Binder carries out the directive bind; required by a manifest that has it.
	Binder objects.Binder
	// Namespace (optional) returns a namespace by name for the points at which no
	// pod has a node yet, nil if it is not known. It is called on the scheduler's
	// loop.
	Namespace func(name string) *state.Namespace
	// Encodings (optional) is the cache of objects that plugins read whole; nil means one of
	// this plugin's own.
	Encodings *encoding.Cache
	// Clock (optional) is the breaker's time; nil means the machine's.
	Clock clock.Clock
	// Recovered (optional) hears that the plugin works again after its breaker was
	// open. It is called from anywhere and must not wait.
	Recovered func()
	Log       *slog.Logger // optional
}

// Plugin is a module in a profile: it has the shape of a native plugin. Its
// points are those that the manifest declares.
type Plugin struct {
	config     Config
	deps       Deps
	info       plugin.Info
	points     []abi.Point
	declared   [abi.NumPoints]bool
	projection *mirror.Projection
	normalize  string
	sharded    bool
	published  []publishedKey
	// public and hidden are keys of its state that others may read, and that hold ids.
	public, hidden map[string]bool
	records        atomic.Uint32 // room for the records of a batch
	batch          uint32        // pods that a call can be about
	readsNode      bool          // at points after the node is chosen

	calls   atomic.Int64
	fuel    atomic.Int64 // used
	work    [abi.NumPoints]counter
	written atomic.Uint64

	// ignored tells that scores of this cycle are void: a call was faulted, and
	// the policy is to go on without them.
	ignored atomic.Pointer[cycleKey]
	// unanswered is how many calls of a point ended without an answer of the guest.
	unanswered [abi.NumPoints]atomic.Int64

	breaker *breaker.Breaker
	ending  breaker.Cycle // how the calls of this cycle ended
	// startFuel is what an instance may use to start, from the second on. It does what
	// the first one did, so it needs no more fuel; a guest that tells the two apart gains
	// nothing.
	startFuel int64
	ration    ration
	// aux has the instances of the points outside of cycles.
	aux     auxPool
	between betweenCycles
	budget  *memory.Budget

	// mu guards what follows: it is held for reading during a call of a cycle
	// instance, and for writing to begin a cycle or to close, so that neither
	// happens while a guest runs. Locks are taken in this order: mu, a shard's mu,
	// the source's mu.
	mu       sync.RWMutex
	closed   bool
	cycle    cycleKey
	cycleErr error       // of preparing it
	plan     memory.Plan // of the shards
	shards   []*shard
	pods     [1]*state.Pod // the cycle's
	source   source        // of the shards
}

// cycleKey tells one cycle from the next.
type cycleKey struct {
	pod        *state.Pod
	snapshot   *state.Snapshot
	generation uint64
	seed       uint64
}

func keyOf(c *plugin.Cycle) cycleKey {
	return cycleKey{pod: c.Pod, snapshot: c.Snapshot, generation: c.Snapshot.Generation, seed: c.Seed}
}

var (
	_ plugin.Fallible  = (*Plugin)(nil)
	_ plugin.PreFilter = (*Plugin)(nil)
	_ plugin.Filter    = (*Plugin)(nil)
	_ plugin.PreScore  = (*Plugin)(nil)
	_ plugin.Score     = (*Plugin)(nil)
	_ plugin.Normalize = (*Plugin)(nil)
)

// New returns the plugin after one guest has accepted the configuration.
func New(ctx context.Context, c Config, d Deps) (*Plugin, error) {
	if d.Factory == nil || d.Manifest == nil {
		return nil, errors.New("wasm: Factory and Manifest are required")
	}
	if d.Clock == nil {
		d.Clock = clock.Real{}
	}
	if d.Encodings == nil {
		d.Encodings = encoding.New()
	}
	c.Limits = c.Limits.WithDefaults()
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if len(c.Config) == 0 {
		c.Config = []byte("{}")
	}
	if err := check(&c, &d); err != nil {
		return nil, fmt.Errorf("plugin %s: %w", c.Name, err)
	}
	p := &Plugin{config: c, deps: d, points: d.Manifest.Declared(), sharded: d.Manifest.Sharded()}
	for _, point := range p.points {
		p.declared[point] = true
	}
	p.projection = mirror.NewProjection(&d.Manifest.Reads, c.Namespaces)
	p.batch = batchOf(d.Manifest)
	p.readsNode = readsPlaced(d.Manifest)
	if p.normalize = wire.NormalizeNone; d.Manifest.Points.Score != nil && d.Manifest.Points.Score.Normalize != "" {
		p.normalize = d.Manifest.Points.Score.Normalize
	}
	if p.ration.bucket = d.Bucket; d.Bucket == nil {
		p.ration.bucket = NewFuelBucket()
	}
	p.published = publishedKeys(d.Manifest.Reads.Published)
	p.public, p.hidden = keySet(d.Manifest.Publishes), keySet(d.Manifest.CycleLocal)
	p.source.Source = mirror.NewSource(p.projection, &p.written)
	if p.declared[abi.AddPod] {
		p.source.RoomForOther(4096)
	}
	var err error
	if p.info, err = infoOf(&c, &d); err != nil {
		return nil, err
	}
	env := &Env{allowance: allowance{limits: c.Limits}, starting: c.Limits.FuelStart, ledger: &ledger{}}
	guest, err := p.start(ctx, 0, env)
	if err != nil {
		return nil, err
	}
	used := c.Limits.FuelStart - env.starting
	p.startFuel = min(c.Limits.FuelStart, used+c.Limits.FuelBase)
	p.breaker = breaker.New(c.Breaker, breaker.Deps{
		Origin: p.origin(), Now: d.Clock.Now, StartFuel: used, RestartFuel: c.Limits.FuelRestarts,
		Recovered: d.Recovered, Log: d.Log.With("plugin", c.Name),
	})
	started := uint64(len(guest.Memory()))
	if err := guest.Close(ctx); err != nil {
		return nil, err
	}
	p.budget = memory.NewBudget(memory.Config{
		Name: c.Name, Own: c.Limits.OwnMemory, Total: c.Limits.TotalMemory, Manifest: d.Manifest, Process: d.Process, Shrink: p.shrink,
	})
	if err := p.budget.Join(started); err != nil {
		return nil, fmt.Errorf("plugin %s: %w", c.Name, err)
	}
	p.aux.init(p.budget.Binding())
	return p, nil
}

// affordsStarts reports whether there is fuel to replace the instances that this cycle
// lost.
func (p *Plugin) affordsStarts() bool { return p.breaker.Affords(p.ending.Restarts()) }

// check refuses what could not work.
func check(c *Config, d *Deps) error {
	m := d.Manifest
	for _, point := range m.Declared() {
		if !d.Factory.Exports(point) {
			return fmt.Errorf("the manifest declares %s, but %s is not exported", point, exportOf(point))
		}
	}
	if missing := m.Directives.Missing(&c.Grants); !missing.Empty() {
		return fmt.Errorf("the module needs directives that it is not granted: %s", missing.JSON())
	}
	switch {
	case m.Points.Bind != nil && d.Binder == nil:
		return errors.New("wasm: a module with bind needs a Binder")
	case m.Points.QueueSort != nil && len(c.Namespaces) > 0:
		return errors.New("the module sorts the queue, which it cannot for some namespaces only; attach it to all (ABI-5.11)")
	}
	return nil
}

// batchOf returns how many pods a call of a module can be about.
func batchOf(m *wire.Manifest) uint32 {
	if m.Points.PreEnqueue != nil || m.Points.QueueSort != nil || m.Points.Hint != nil {
		return abi.MaxBatch
	}
	return 0
}

// readsPlaced reports whether a module reads the chosen node, with its pods.
func readsPlaced(m *wire.Manifest) bool {
	for _, point := range []abi.Point{abi.Reserve, abi.Unreserve, abi.Permit, abi.PreBind, abi.Bind, abi.PostBind} {
		if m.Points.Get(point) != nil {
			return len(m.Reads.Node) > 0
		}
	}
	return false
}

// namespace returns a namespace outside of cycles; nil if it is not known.
func (p *Plugin) namespace(name string) *state.Namespace {
	if p.deps.Namespace == nil || !p.projection.SeesNamespaceLabels() {
		return nil
	}
	return p.deps.Namespace(name)
}

// start makes a guest and hands it the configuration.
func (p *Plugin) start(ctx context.Context, region uint32, env *Env) (Guest, error) {
	env.heard = p.heard
	guest, err := p.deps.Factory.New(ctx, region, env)
	if err != nil {
		return nil, p.startError(err, env)
	}
	ok, err := guest.Configure(ctx, p.config.Config)
	if err == nil && !ok {
		err = errors.New("the plugin refuses its configuration")
	}
	if err != nil {
		return nil, errors.Join(p.startError(err, env), guest.Close(ctx))
	}
	return guest, nil
}

// maxSaid is how much of what a guest said last the error of its start quotes, in bytes.
const maxSaid = 2 << 10

func (p *Plugin) startError(err error, env *Env) error {
	if detail, trace := trapText(err); trace != "" {
		err = errors.New(detail)
	}
	err = plain.Error(err, fault.MaxDetail)
	if out := env.log.String(); out != "" {
		return fmt.Errorf("plugin %s: %w; it said: %s", p.config.Name, err, plain.Tail(out, maxSaid))
	}
	return fmt.Errorf("plugin %s: %w", p.config.Name, err)
}

// infoOf translates a manifest.
func infoOf(c *Config, d *Deps) (plugin.Info, error) {
	m := d.Manifest
	info := plugin.Info{
		Name: c.Name, Module: m.Name + " " + m.Version, Digest: d.Factory.Digest(), Namespaces: slices.Sorted(slices.Values(c.Namespaces)),
		Reads: readsOf(m),
	}
	for _, point := range []abi.Point{abi.Filter, abi.Score} {
		if m.Points.Get(point) != nil && m.Scope(point) == abi.ScopeNode {
			info.NodeScoped = append(info.NodeScoped, point)
		}
	}
	for _, name := range m.Enforces {
		f, ok := state.ParseFeature(name)
		if !ok {
			return info, fmt.Errorf("plugin %s: the manifest enforces %q, which is no feature that this host knows: %v", c.Name, name, state.FeatureNames())
		}
		info.Enforces |= f
	}
	if len(c.Namespaces) > 0 || c.policy(abi.Filter) == fault.Ignore || m.Points.Filter == nil {
		info.Enforces = 0 // it would speak for pods that it does not see, or lets through
	}
	for _, e := range m.Events {
		event := state.ClusterEvent{Resource: state.EventResource(e.Resource)}
		for _, name := range e.Actions {
			action, ok := state.ParseAction(name)
			if !ok {
				return info, fmt.Errorf("plugin %s: the manifest registers action %q, which this host does not know", c.Name, name)
			}
			event.Action |= action
		}
		info.Events = append(info.Events, plugin.Event{ClusterEvent: event})
	}
	if len(info.Events) == 0 {
		info.Events = []plugin.Event{{ClusterEvent: state.ClusterEvent{Resource: state.WildCardResource, Action: state.AllActions}}}
	}
	return info, nil
}

// Info implements plugin.Plugin.
func (p *Plugin) Info() *plugin.Info { return &p.info }

// Points returns the points of a profile at which the plugin can stand.
func (p *Plugin) Points() []abi.Point {
	return slices.DeleteFunc(slices.Clone(p.points), func(point abi.Point) bool {
		switch point { // they belong to others
		case abi.Hint, abi.AddPod, abi.RemovePod, abi.Normalize, abi.Unreserve:
			return true
		}
		return false
	})
}

// Unanswered implements plugin.Fallible: it counts faults, and calls that the breaker or
// the end of the scheduler kept from being made.
func (p *Plugin) Unanswered(point abi.Point) int64 { return p.unanswered[point].Load() }

// Faults returns how often a guest of this plugin failed.
func (p *Plugin) Faults() int64 {
	var sum int64
	for point := range abi.NumPoints {
		sum += p.FaultsAt(point)
	}
	return sum
}

// FaultsAt returns how often a guest of this plugin failed at a point, without the calls
// that were not made or that ended because the scheduler is to stop.
func (p *Plugin) FaultsAt(point abi.Point) int64 { return p.work[point].failed.Load() }

// Calls returns how often a guest of this plugin was called.
func (p *Plugin) Calls() int64 { return p.calls.Load() }

// Fuel returns how much the guests of this plugin have used, in units of package
// meter.
func (p *Plugin) Fuel() int64 { return p.fuel.Load() }

// BytesWritten returns how much of snapshots and pods was written into guest
// memory.
func (p *Plugin) BytesWritten() uint64 { return p.written.Load() }

// policy returns what a fault at a point means.
func (p *Plugin) policy(point abi.Point) fault.Policy { return p.config.policy(point) }

func (c *Config) policy(point abi.Point) fault.Policy {
	if policy, ok := c.Policies[point]; ok {
		return policy
	}
	return fault.DefaultPolicy(point)
}

// Close frees the plugin's instances when the calls that run have ended. Later
// calls are faults.
func (p *Plugin) Close(ctx context.Context) error {
	defer p.budget.Leave() // when p.mu is free
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.cycle, p.cycleErr = true, cycleKey{}, nil
	var errs []error
	for _, s := range p.shards {
		if s.guest != nil {
			errs = append(errs, s.guest.Close(ctx))
			s.guest = nil
		}
	}
	p.shards = nil
	errs = append(errs, p.aux.close(ctx))
	return errors.Join(errs...)
}
