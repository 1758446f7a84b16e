package memory

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// Parts of a plugin's memory.
const (
	// spareMemory is how much an instance may grow after its start before it counts as
	// large, in bytes.
	spareMemory = 8 << 20
	// AuxRegion is how large the region of an aux instance may be, with what the host
	// keeps for it, in bytes.
	AuxRegion = 8 << 20
	// maxBinding is how many binding cycles may be in the guest at once, if there is
	// memory for as many instances.
	maxBinding = 4
)

// Config is what a budget is made of.
type Config struct {
	// Name is the plugin's, for messages.
	Name string
	// Own is the limit of an instance's memory besides its region, and Total that of the
	// plugin: all instances with their regions, and what the host keeps for them. Both
	// are in bytes.
	Own   uint32
	Total int64
	// Manifest says which kinds of instances there are.
	Manifest *wire.Manifest
	// Process (optional) is the memory that plugins share; nil leaves the plugin its Total.
	Process *Process
	// Replaces (optional) is the budget of the version whose place the plugin takes. If there is no room for both, they
	// count as one.
	Replaces *Budget
	// Shrink is called when the plugin's share becomes smaller. It closes the cycle
	// instances if they exceed it.
	Shrink func()
}

// Budget is the memory of a plugin. The maximum of each instance is fixed when it is made,
// so that their sum cannot exceed the share: first come aux instances and one place for the
// instance that grows most, then as many cycle instances as there is room for.
type Budget struct {
	config   Config
	division division
	binding  int
	use      use
	state    states
	// share is what the process leaves the plugin, at most its limit. needed is what the
	// instances of the last plan may grow to, and host what the host keeps for them.
	share, needed, host atomic.Int64
}

// NewBudget returns a budget. Join divides it.
func NewBudget(c Config) *Budget {
	b := &Budget{config: c, use: use{large: make(chan struct{}, 1)}}
	b.share.Store(c.Total)
	return b
}

// division is how the memory of a plugin is divided, in bytes.
type division struct {
	own   uint64 // of an instance besides its region
	grant uint64 // of own that each instance has
	aux   uint64 // of all aux instances
	place uint64 // for one instance, from grant to own
	// native is what each instance has beside its memory, and deep what one of them may have
	// of it besides, while it holds the place.
	native, deep uint64
	state        uint64 // of pods that wait or are being bound
	least        uint64 // with one cycle instance of each kind, besides regions
}

// Join divides the budget, and takes the plugin's share of the process. If that is not
// enough, fewer binding cycles run at once. started says what an instance takes that has
// started.
//
// # Errors
//
// The plugin would have less than it needs, or another plugin of the process would.
func (b *Budget) Join(started Started) error {
	for most := maxBinding; ; most = 1 {
		err := b.divide(started, most)
		if err != nil || b.config.Process == nil {
			return err
		}
		if err = b.config.Process.join(b, int64(b.division.least), b.config.Replaces); err == nil || b.binding <= 1 {
			return err
		}
	}
}

// Started is what an instance takes that has started, in bytes.
type Started struct {
	// Memory is that of the guest. Native is what the host has for each instance beside it:
	// tables and stacks. Deep is what a call with a deep stack takes besides.
	Memory, Native, Deep uint64
}

// Leave returns the plugin's share to the process. The caller holds no lock that Shrink of
// another plugin takes.
func (b *Budget) Leave() {
	if b.config.Process != nil {
		b.config.Process.leave(b)
	}
}

// Retire leaves the plugin only what pods in flight need: instances outside of cycles, state and patches. Cycle instances
// are closed. The caller holds no lock that Shrink of a plugin takes.
func (b *Budget) Retire() {
	d := &b.division
	needs := d.state
	if d.aux > 0 {
		needs += d.aux + d.place + d.deep
	}
	if b.config.Process != nil {
		b.config.Process.retire(b, int64(needs))
	}
}

// divide divides the budget, for at most so many binding cycles at once.
func (b *Budget) divide(started Started, most int) error {
	total, d := uint64(b.config.Total), division{own: pages(uint64(b.config.Own)), native: started.Native, deep: started.Deep}
	d.grant = min(d.own, pages(started.Memory)+spareMemory)
	d.place = d.own - d.grant
	each := d.grant + d.native + AuxRegion
	loop, beside := uint64(0), false
	for _, point := range b.config.Manifest.Declared() {
		switch point {
		case abi.PreBind, abi.Bind, abi.PostBind:
			beside = true
		default:
			if point.Aux() {
				loop = 1
			}
		}
	}
	b.binding = 0
	if beside {
		b.binding = min(most, max(1, int(total/4/each)))
	}
	d.aux = (loop + uint64(b.binding)) * each
	if b.keeps() {
		d.state = uint64(b.mostKept() + b.mostAdded())
	}
	d.least = d.place + d.deep + d.aux + d.state + d.grant + d.native
	if b.hasRowless() {
		d.least += d.grant + d.native
	}
	b.division = d
	if d.least > total {
		return fmt.Errorf("limits.memoryTotal is %s, and the plugin needs %s at least: %s for an instance that uses all of limits.memory, "+
			"%s for its stack at limits.depth and for tables, %s for %d instances outside of cycles: raise limits.memoryTotal, or lower limits.memory or limits.depth",
			inBytes(total), inBytes(d.least), inBytes(d.own), inBytes(d.deep+d.native), inBytes(d.aux), loop+uint64(b.binding))
	}
	return nil
}

// hasRowless reports whether there is a cycle instance that holds no nodes.
func (b *Budget) hasRowless() bool {
	return b.config.Manifest.Sharded() && b.config.Manifest.Points.PreFilter != nil
}

// Binding returns how many binding cycles may be in the guest at once.
func (b *Budget) Binding() int { return b.binding }

// Exceeds reports whether the cycle instances may grow to more than the plugin's share.
func (b *Budget) Exceeds() bool { return b.needed.Load() > b.share.Load() }

// Usage is what a plugin uses, in bytes.
type Usage struct {
	// Guests is the memory of its Instances, and Host what the host keeps for them.
	// Together they may grow to Max. Share is what the plugin may have.
	Guests, Host, Max, Share int64
	Instances                int
}

// Usage returns what the plugin uses now.
func (b *Budget) Usage() Usage {
	return Usage{
		Guests: b.use.bytes.Load(), Instances: int(b.use.instances.Load()), Host: b.host.Load() + b.state.kept.Load() + b.state.added.Load(), Max: b.needed.Load(), Share: b.share.Load(),
	}
}

// inBytes writes a size as a quantity, rounded up to kibibytes.
func inBytes(n uint64) string {
	const kibi = 1 << 10
	return resource.NewQuantity(int64((n+kibi-1)/kibi*kibi), resource.BinarySI).String()
}
