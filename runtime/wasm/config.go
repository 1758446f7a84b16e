package wasm

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/encoding"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// Config says how a plugin is used.
type Config struct {
	// Name is the plugin's name in a profile.
	Name string
	// Publishes is the plugin under whose name others read what it publishes, if it is a version of that
	// one or takes its place; empty means Name. No two of them take part in one pod's cycle.
	Publishes string
	// Config is the plugin's configuration as JSON, valid by the manifest's schema; empty
	// means {}.
	Config []byte
	// Namespaces are those whose pods the plugin is for; none means all. It sees no pods
	// of other namespaces, and has no opinion about them.
	Namespaces []string
	// HideSeed and HideGeneration withhold from the guest what would tell a tenant how much others
	// do: it gets the seed 0, and generations that count its own cycles.
	HideSeed, HideGeneration bool
	// Grants are the directives that the plugin may use. They must cover those that the
	// manifest declares.
	Grants wire.ManifestDirectives
	// Policies say what a fault means, for points that differ from fault.DefaultPolicy.
	Policies map[abi.Point]fault.Policy
	// Shards is the maximum number of instances that hold the nodes of a plugin of scope node; 0 means 1. How many
	// there are follows from the rows and from limits, never from workers: a guest can tell.
	Shards int
	// Kept tells that the caller keeps answers for equivalent pods (package equivalence). A
	// plugin whose answers can be kept is then asked about few nodes at a time, so it has
	// one such instance.
	Kept bool
	// CrashOnBug lets a mistake of the host end the process, for tests. Otherwise it is a
	// fault.
	CrashOnBug bool
	// Limits are what the plugin may use.
	Limits sandbox.Limits
	// Budget is how many attempts the plugin may cause.
	Budget plugin.Budget
	// MaxPriority is as in plugin.Info.
	MaxPriority *int32
	// Breaker says when the plugin is not called because it fails.
	Breaker breaker.Config
	// VerifyEvery is how often the columns of an instance are checked for writes by the
	// guest: 1 for every call, n for every nth, 0 for never. With Kept and n above 1, a call
	// about few rows counts as a 16th of one.
	VerifyEvery int
}

// Deps is what a plugin works with.
type Deps struct {
	Factory sandbox.Factory
	// Manifest is the module's; the names that Config brings to it may be missing.
	Manifest *wire.Manifest
	// Bucket (optional) is the fuel that the plugin shares with others of its tenant; nil
	// for one of its own.
	Bucket *FuelBucket
	// Process (optional) is the memory that the plugin shares with the others of the
	// process; nil leaves it all that its limits allow.
	Process *memory.Process
	// Replaces (optional) is the version whose place the plugin takes. If there is no memory for both, the plugin has that of
	// the other one, which must be retired before this one is called.
	Replaces *Plugin
	// Binder carries out the directive bind. It is required if the manifest has bind.
	Binder objects.Binder
	// Namespace (optional) returns a namespace by name, nil if it is not known, for points
	// at which no pod has a node yet. It is called on the scheduler's loop.
	Namespace func(name string) *state.Namespace
	// Encodings (optional) is the cache of objects that plugins read whole; nil means one
	// of this plugin's own.
	Encodings *encoding.Cache
	// Clock (optional) is the breaker's time; nil means the machine's.
	Clock clock.Clock
	// Recovered (optional) is called when the plugin works again after its breaker was
	// open. It is called from any goroutine and must not block.
	Recovered func()
	// Overrun (optional) numbers a call on the scheduler's loop before it is made. In a replay it completes one that
	// did not end by itself in the recording, and returns true. Overran (optional) is told of the calls that do not
	// end by themselves. Workers may call both at once.
	Overrun func(*Overrun) bool
	Overran func(*Overrun)
	Log     *slog.Logger // optional
}

// setDefaults fills in what is optional.
func setDefaults(c *Config, d *Deps) {
	c.Limits = c.Limits.WithDefaults()
	if len(c.Config) == 0 {
		c.Config = []byte("{}")
	}
	if d.Clock == nil {
		d.Clock = clock.Real{}
	}
	if d.Encodings == nil {
		d.Encodings = encoding.New()
	}
	if d.Bucket == nil {
		d.Bucket = NewFuelBucket()
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
}

// check refuses a plugin that could not work.
func check(c *Config, d *Deps) error {
	m := d.Manifest
	for _, point := range m.Declared() {
		if !d.Factory.Exports(point) {
			return fmt.Errorf("the manifest declares %s, but %s is not exported", point, sandbox.ExportOf(point))
		}
	}
	rights := m.Rights()
	if missing := rights.Missing(&c.Grants); !missing.Empty() {
		return fmt.Errorf("the module needs directives that it is not granted: %s", missing.JSON())
	}
	switch {
	case m.Points.Bind != nil && d.Binder == nil:
		return errors.New("wasm: a module with bind needs a Binder")
	case m.Points.QueueSort != nil && len(c.Namespaces) > 0:
		return errors.New("the module sorts the queue, which it cannot do for some namespaces only; attach it to all (ABI-5.11)")
	}
	return nil
}

// policy returns what a fault at a point means.
func (c *Config) policy(point abi.Point) fault.Policy {
	if policy, ok := c.Policies[point]; ok {
		return policy
	}
	return fault.DefaultPolicy(point)
}
