// Package assembly is the composition root: the one place that makes plugins, pipelines and the
// scheduler from a configuration and connects them.
package assembly

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
)

// Config configures a scheduler.
type Config struct {
	// Scheduler has the profiles; nil means Default().
	Scheduler *config.Scheduler
	// Gates are the feature gates that are not at their defaults.
	Gates config.Gates
	// Plugins (optional) are plugins that profiles can name besides the native ones; they
	// replace native plugins and modules of the same name.
	Plugins plugin.Registry
	// Framework (optional) hosts plugins of kube-scheduler's framework that profiles can name, without a cluster.
	Framework Framework
	// Modules (optional) makes the plugins whose args are a *Module.
	Modules *Modules
	// PluginMemory is what the plugins of Modules may have together, in bytes; 0 means ModulesConfig.Memory. Those in shadow have as
	// much besides.
	PluginMemory int64
	// Attached (optional) are plugins beside those of profiles, until Attach replaces them.
	Attached []Attached
	// Seed is the source of all randomness.
	Seed uint64
	// Draw is as in scheduler.Config.
	Draw func(pod types.UID) uint64
	// TieBreak chooses among nodes with equal scores.
	TieBreak cycle.TieBreak
	// Rank orders nodes for the tie-break by first node: the smallest rank wins. nil means an
	// order that depends on the seed only.
	Rank func(node string) uint64
	// Candidates is how many of the best nodes an attempt lists; 0 means 5.
	Candidates int
	// AllRows is as in cycle.Config.
	AllRows bool
	// Reuse limits the answers of plugins that are kept for equivalent pods; the zero value
	// keeps none.
	Reuse equivalence.Config
	// TrialShare is the part of the loop's time that plugins in shadow may take; 0 means
	// DefaultTrialShare. From 1 on there is no limit.
	TrialShare float64
	// Workers is the number of goroutines that evaluate blocks of nodes; 0 means the number of
	// CPUs, but at most the configuration's parallelism. Decisions do not depend on it.
	Workers int
	// AllowUnenforced are features that pods may use although no enabled plugin enforces them.
	AllowUnenforced state.Feature
	// MaxUnschedulable is how long a pod stays parked without a helpful event; 0 means 5
	// minutes.
	MaxUnschedulable time.Duration
	// RecordReads are keys of annotations that are recorded besides those that plugins declare.
	RecordReads []string
	// Recording (optional) refuses plugins that read what a recording with these settings lacks.
	Recording *inbox.Settings
	// Feeds are those that modules may read, with their units, as manifests name them; nil means any, of which nothing may be known.
	Feeds []string
	// Kubernetes is the minor version of Kubernetes 1 whose defaults and texts native plugins have; 0 means hostplugins.Release.
	Kubernetes uint64
	// OneHash, NoNamespaceBudget and OneLane are as in scheduler.Config.
	OneHash, NoNamespaceBudget, OneLane bool
	// IgnoreBindVerbs leaves binding to the Bind plugins even if extenders have bind verbs.
	IgnoreBindVerbs bool
	// WithoutExtenders asks no HTTP extender. NodeResourcesFit still leaves to them the resources
	// that they handle.
	WithoutExtenders bool
	// WithoutShadow leaves out plugins in shadow, which decide nothing.
	WithoutShadow bool
}

// CompareTolerations reports whether the operators Lt and Gt of tolerations compare numbers.
func (c *Config) CompareTolerations() bool { return c.Gates.On(config.TolerationOperators) }

// DefaultTrialShare is the part of the loop's time that plugins in shadow may take.
const DefaultTrialShare = 0.05

// Deps connects the scheduler to its environment.
type Deps struct {
	Clock   clock.Clock // optional: the machine's clock if nil
	Binder  objects.Binder
	Evictor objects.Evictor              // optional, see scheduler.Deps
	Budgets objects.PodDisruptionBudgets // optional, see hostplugins.Deps
	Patcher objects.Patcher              // optional, see extender.Deps
	Storage hostplugins.Storage          // optional: without it volumes do not exist
	Devices hostplugins.Devices          // optional: without it resource claims do not exist
	Objects scheduler.Objects            // optional, see scheduler.Deps
	// Follow (optional) is told what plugins read of objects of the API, at first and whenever plugins change. It must not block, nor call
	// the Assembly.
	Follow      func(views []wire.ObjectView)
	Services    objects.Services
	Controllers objects.Controllers
	Outlet      scheduler.Outlet
	Observer    scheduler.Observer                      // optional
	Recorder    inbox.Recorder                          // optional, see scheduler.Deps
	Tape        extender.Tape                           // optional: by default it tells Recorder of answers
	Gated       func(pod *state.Pod, by, reason string) // optional, see scheduler.Deps
	Moved       func(queue.Transition)                  // optional, see scheduler.Deps
	Handled     func(state.ClusterEvent, time.Duration) // optional, see scheduler.Deps
	Worked      func(string, []report.Timing)           // optional, see scheduler.Deps
	Broken      func(pipeline.Broken)                   // optional, see pipeline.Deps
	// Panicked (optional) is told of each panic that was stopped, besides Log.
	Panicked func(*plugin.Panic)
	Suspects *scheduler.Suspects   // optional, see scheduler.Deps
	Fault    func(at, what string) // optional, see scheduler.Deps
	// CutOff (optional) is for replays, and needs a Recorder: it reports whether a search for devices on a node, by
	// its number among those on the node during an event, was cut off in the recording.
	CutOff func(node string, search uint64) bool
	// Overrun (optional) is for replays, and needs a Recorder: it completes a call of a module that did not end by
	// itself in the recording, and returns true.
	Overrun func(call *inbox.Overrun) bool
	// Framework (optional) takes the place of Config.Framework: it hosts the same plugins, and they see the cluster.
	Framework Framework
	Log       *slog.Logger     // optional
	Spawn     func(run func()) // optional, see scheduler.Deps
	// MaxUnsent is as in scheduler.Config: it follows from what Binder sends in a second.
	MaxUnsent int
}

// Assembly is a scheduler and what must be closed with it.
type Assembly struct {
	Scheduler *scheduler.Scheduler
	// Profiles are the names of the profiles in configured order.
	Profiles []string

	config  Config
	deps    Deps
	clock   *clock.Held // what the loop and its plugins see of deps.Clock
	workers *pipeline.Workers
	events  atomic.Uint64 // that the recorder was told of

	// mu is held while plugins are made, so that one Reload runs at a time. The loop never takes
	// it.
	mu struct {
		sync.Mutex
		built []*built // of the profiles
		// base is the configuration without attached plugins.
		base     *config.Scheduler
		attached attached
		trials   []trial
		// noFolder says why the plugin folder has not been read since the start; empty if it has, or there is none.
		noFolder string
	}
	// now guards what Status returns, so that Status does not wait while plugins are made.
	now struct {
		sync.Mutex
		built  []*built
		trials []trial
		status Status
		// demoted says why answers of a plugin are no longer kept.
		demoted map[*plugin.Info]string
	}
	buckets map[string]*wasm.FuelBucket // by profile and namespaces; under mu as well
	// process is for the plugins that decide, and trials for those in shadow; nil without
	// Modules.
	process, trials *memory.Process
	shadow          *shadow.Shadow
	hosted          map[string]plugin.Registry // framework plugins by profile; under mu as well
	// loop is Scheduler, for framework plugins that may need it while it is being made.
	loop atomic.Pointer[scheduler.Scheduler]
	// life ends with Close. It is the context of framework plugins.
	life context.Context //nolint:containedctx // their factories want one, whenever they are made
	end  context.CancelFunc
	// closing counts the users of plugins, to close each after its last.
	closing   holders
	extenders *extender.Extenders
}

// Config returns the configuration with the plugins of the last Reload, to make another
// scheduler that decides as this one does. Its plugins have the memory that those in shadow leave, so that one such scheduler at a
// time and the shadow take ModulesConfig.Memory together. It may be called from any goroutine.
func (a *Assembly) Config() Config {
	a.now.Lock()
	defer a.now.Unlock()
	c, s := a.config, *a.config.Scheduler
	s.Profiles = nil
	for _, b := range a.now.built {
		s.Profiles = append(s.Profiles, b.profile)
	}
	c.Scheduler = &s
	if a.trials != nil {
		c.PluginMemory = max(a.trials.Free(), 1)
	}
	return c
}

// Default returns a new copy of the configuration that an absent file means.
func Default() *config.Scheduler { return config.Default(Catalog()) }

// New makes the scheduler.
func New(c Config, d Deps) (*Assembly, error) {
	if c.Scheduler == nil {
		c.Scheduler = config.Default(Catalog().WithGates(c.Gates))
	}
	if d.Clock == nil {
		d.Clock = clock.Real{}
	}
	if c.Gates.On(config.FractionalCapacity) {
		d.Devices = d.Devices.Fractional()
	}
	whole := c.Scheduler
	var trials []trial
	var err error
	if c.Scheduler, trials, err = separate(whole); err != nil {
		return nil, err
	}
	extenders, err := newExtenders(&c, d)
	if err != nil {
		return nil, err
	}
	if c.Workers == 0 {
		c.Workers = min(runtime.GOMAXPROCS(0), int(c.Scheduler.Parallelism))
	}
	workers, err := pipeline.NewWorkers(c.Workers)
	if err != nil {
		return nil, err
	}
	a := &Assembly{config: c, deps: d, clock: clock.NewHeld(d.Clock), workers: workers, extenders: extenders}
	if c.Modules != nil {
		total := cmp.Or(c.PluginMemory, c.Modules.config.Memory)
		a.process, a.trials = memory.NewProcess(total), memory.NewProcess(total)
	}
	a.life, a.end = context.WithCancel(context.Background())
	decide := cycle.Config{TieBreak: c.TieBreak, Candidates: c.Candidates, AllRows: c.AllRows, Reuse: c.Reuse}
	a.shadow = shadow.New(shadow.Config{Share: cmp.Or(c.TrialShare, DefaultTrialShare), Cycle: decide}, shadow.Deps{Panicked: a.Panicked})
	a.mu.base = whole
	a.mu.built, a.mu.attached, err = a.buildAttached(context.Background(), c.Scheduler, c.Attached, nil)
	if err != nil {
		a.end()
		a.workers.Close()
		return nil, err
	}
	if err := unrecorded(a.mu.built, c.Recording); err != nil {
		a.Close()
		return nil, err
	}
	if a.mu.trials, err = a.buildTrials(context.Background(), c.Scheduler, trials, &a.mu.attached, nil, false); err != nil {
		a.Close()
		return nil, err
	}
	a.setTrials(a.mu.trials)
	a.now.built, a.now.trials, a.now.demoted = a.mu.built, a.mu.trials, make(map[*plugin.Info]string)
	var pipelines []*pipeline.Pipeline
	for _, b := range a.mu.built {
		pipelines = append(pipelines, b.pipeline)
		a.Profiles = append(a.Profiles, b.pipeline.Profile())
	}
	queues := queue.DefaultConfig()
	queues.InitialBackoff, queues.MaxBackoff = c.Scheduler.PodInitialBackoff, c.Scheduler.PodMaxBackoff
	if c.MaxUnschedulable > 0 {
		queues.MaxUnschedulable = c.MaxUnschedulable
	}
	a.Scheduler, err = scheduler.New(
		scheduler.Config{
			Seed: c.Seed, Draw: c.Draw, Queue: queues,
			Cycle: decide,
			Cache: cache.Config{Rank: a.rank()}, OneHash: c.OneHash, NoNamespaceBudget: c.NoNamespaceBudget, OneLane: c.OneLane,
			MaxUnsent: d.MaxUnsent,
		},
		scheduler.Deps{
			Clock: a.clock, Recorder: a.counted(), Objects: d.Objects, Pipelines: pipelines, Extenders: extenders, Outlet: d.Outlet, Evictor: d.Evictor,
			Observer: d.Observer, Tried: a.shadow.Tried, TriesNominated: a.shadow.ReadsNominated,
			Moved: d.Moved, Gated: d.Gated, Handled: d.Handled, Worked: d.Worked, Log: d.Log,
			Spawn:    d.Spawn,
			Panicked: a.Panicked, Suspects: d.Suspects, Fault: d.Fault,
		},
	)
	if err != nil {
		a.Close()
		return nil, err
	}
	a.loop.Store(a.Scheduler)
	if err := a.begin(c.Scheduler, a.mu.built); err != nil {
		a.Close()
		return nil, err
	}
	a.follow()
	return a, nil
}

// NewUnconnected makes the scheduler as New does, with its plugins, but connects it to nothing.
// It shows whether a configuration is usable. The scheduler must not be run.
func NewUnconnected(c Config) (*Assembly, error) {
	return New(c, Deps{Binder: noBinder{}, Outlet: struct{ scheduler.Outlet }{}})
}

// Panicked logs and counts a panic that was stopped. Any goroutine may call it.
func (a *Assembly) Panicked(p *plugin.Panic) {
	if a.deps.Log != nil {
		a.deps.Log.Error("a panic was stopped; please report it", "place", string(p.Place), "what", p.What, "panic", p.Value, "stack", string(p.Stack))
	}
	if a.deps.Panicked != nil {
		a.deps.Panicked(p)
	}
}

// broken logs that answers of a plugin are no longer reused.
func (a *Assembly) broken(b pipeline.Broken) {
	a.now.Lock()
	a.now.demoted[b.Plugin] = fmt.Sprintf("when asked again at %s about node %s for pod %s, it gave another answer, although nothing that it declares to read had changed",
		configName(b.Point), b.Node, b.Pod.Key())
	a.now.Unlock()
	if a.deps.Log != nil {
		a.deps.Log.Warn("plugin answers are no longer reused: when asked again, the plugin gave another answer although nothing that it declares to read had changed",
			"plugin", b.Plugin.Name, "digest", b.Plugin.Digest, "point", b.Point.String(), "pod", b.Pod.Key(), "node", b.Node)
	}
	if a.deps.Broken != nil {
		a.deps.Broken(b)
	}
}

// Close frees the plugins and stops what runs beside the scheduler. The scheduler must have
// stopped.
func (a *Assembly) Close() {
	a.end()
	a.workers.Close()
	a.extenders.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closing.closeAll()
}

// configName returns a point's name in a configuration file, which begins with a lower-case
// letter.
func configName(point abi.Point) string {
	name := point.String()
	return strings.ToLower(name[:1]) + name[1:]
}

// mix hashes a node name with the seed (FNV-1a, finished with a splitmix64 step).
func mix(seed uint64, name string) uint64 {
	x := seed ^ 0xcbf29ce484222325
	for i := range len(name) {
		x = (x ^ uint64(name[i])) * 0x100000001b3
	}
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
