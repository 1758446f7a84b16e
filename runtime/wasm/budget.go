package wasm

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

// Parts of a plugin's memory.
const (
	// spareMemory is what an instance may grow by after its start before it counts as
	// large, in bytes.
	spareMemory = 8 << 20
	// auxRegion is how large the region of an aux instance may be, with what the host
	// keeps for it.
	auxRegion = 8 << 20
	// mostBinding is how many binding cycles may be in the guest at once, if there is
	// memory for as many instances.
	mostBinding = 4
)

// budget is how the memory of a plugin is divided. The maximum of each instance is fixed
// when it is made, so that the sum cannot exceed total: cycle instances first, which are
// fewer if need be, then aux instances; and one place for the instance that grows most.
type budget struct {
	total uint64 // that it may have
	own   uint64 // of an instance besides its region
	grant uint64 // of it that is each instance's
	aux   uint64 // of all aux instances
	slot  uint64 // from a grant to own, for one of them
	least uint64 // with one cycle instance of each kind, besides regions
}

// divide says how much there is for what. started is the memory of an instance that has
// started, binding how many binding cycles there may be in the guest at once, at most so many.
func divide(l *Limits, started uint64, m *wire.Manifest, most int) (b budget, binding int, err error) {
	b = budget{total: uint64(l.TotalMemory), own: pages(uint64(l.OwnMemory))}
	b.grant = min(b.own, pages(started)+spareMemory)
	b.slot = b.own - b.grant
	each := b.grant + auxRegion
	loop, beside := uint64(0), false
	for _, point := range m.Declared() {
		switch point {
		case abi.PreBind, abi.Bind, abi.PostBind:
			beside = true
		default:
			if point.Aux() {
				loop = 1
			}
		}
	}
	if beside {
		binding = min(most, max(1, int(b.total/4/each)))
	}
	b.aux = (loop + uint64(binding)) * each
	b.least = b.slot + b.aux + b.grant
	if m.Sharded() && m.Points.PreFilter != nil {
		b.least += b.grant
	}
	if b.least > b.total {
		return b, 0, fmt.Errorf("limits.memoryTotal is %s, and the plugin needs %s at least: %s for an instance that uses all of limits.memory, "+
			"%s for %d instances outside of cycles: raise limits.memoryTotal, or lower limits.memory",
			inBytes(b.total), inBytes(b.least), inBytes(b.own), inBytes(b.aux), loop+uint64(binding))
	}
	return b, binding, nil
}

// join divides the plugin's memory, and takes its share of the process's: with fewer binding
// cycles at once if there is no other way.
func (p *Plugin) join(started uint64) error {
	p.memory.large = make(chan struct{}, 1)
	p.share.Store(p.config.Limits.TotalMemory)
	for most := mostBinding; ; most = 1 {
		b, binding, err := divide(&p.config.Limits, started, p.deps.Manifest, most)
		if err != nil {
			return err
		}
		p.budget = b
		p.aux.init(binding)
		if p.deps.Process == nil {
			return nil
		}
		if err = p.deps.Process.join(p, int64(b.least)); err == nil || binding <= 1 {
			return err
		}
	}
}

// pages rounds up to pages of a memory.
func pages(n uint64) uint64 { return (n + pageSize - 1) / pageSize * pageSize }

// inBytes writes a size as a quantity, rounded up to kibibytes.
func inBytes(n uint64) string {
	const kibi = 1 << 10
	return resource.NewQuantity(int64((n+kibi-1)/kibi*kibi), resource.BinarySI).String()
}

// linear returns the memory of an instance with a region, of a cycle instance that holds
// nodes or of another.
func (p *Plugin) linear(region uint32, cycle bool) *linear {
	grant, room := p.budget.grant, pages(uint64(region)+abi.RegionAlign)
	if cycle && p.full && !p.tight {
		grant = p.budget.own
	}
	return &linear{hard: p.budget.own + room, granted: grant + room, use: &p.memory, starting: true, cycle: cycle}
}

// plan chooses how many cycle instances there are: as many as are useful and as have room
// in the budget, which after one of them grew must have all of their own memory. If there
// is no room for one with all of it, one may have it during a call. It sets the
// capacities of their regions.
//
// # Errors
//
// There is no room for a single one. That does not depend on the number of workers.
func (p *Plugin) plan(snap *state.Snapshot) error {
	p.full, p.tight, p.planned = p.memory.grew.Load(), false, p.share.Load()
	total := uint64(p.planned)
	b := &p.budget
	rowless := uint64(0)
	if p.sharded && p.declared[abi.PreFilter] {
		rowless = 1
	}
	for n := p.split(snap.Len()); ; {
		p.source.Shards = n
		p.source.Measure(snap)
		spec := p.source.Mirror(0).Spec()
		layout, err := wire.NewLayout(spec)
		if err != nil && n == 1 {
			return p.fault(abi.PreFilter, fault.NoMemory, fmt.Sprintf("%v: declare fewer columns; the largest are %s", err, mirror.Largest(&spec)), nil)
		} else if err != nil {
			n--
			continue
		}
		grant, slot := b.grant, b.slot
		if p.full && !p.tight {
			if grant = b.own; b.aux+rowless == 0 {
				slot = 0 // nobody needs it
			}
		}
		host, region := p.source.HostBytes(), pages(uint64(layout.Size)+abi.RegionAlign)
		need := slot + b.aux + host + uint64(n)*(grant+region) + rowless*(b.grant+region)
		switch {
		case need <= total:
			p.needed.Store(int64(need))
			p.host.Store(int64(host))
			// What is left is for regions that have to be larger within a cycle.
			p.regionMost = uint64(layout.Size) + (total-need)/(uint64(n)+rowless)
			return nil
		case n > 1:
			n--
		case p.full && !p.tight:
			p.tight = true
		default:
			return p.fault(abi.PreFilter, fault.NoMemory, fmt.Sprintf("it needs %s, and has %s: %s for the guest itself, %s for a region of %d nodes, "+
				"whose largest columns are %s, %s on the host's side, %s for instances outside of cycles: %s, lower limits.memory, or declare fewer columns",
				inBytes(need), inBytes(total), inBytes(b.own), inBytes(uint64(layout.Size)), snap.Len(), mirror.Largest(&spec), inBytes(host), inBytes(b.aux), p.more(total)), nil)
		}
	}
}

// more says what gives the plugin more memory than it has.
func (p *Plugin) more(total uint64) string {
	if total < p.budget.total {
		return "the plugins of the process share --plugin-memory: raise it"
	}
	return "raise limits.memoryTotal"
}

// shrink closes the cycle instances if the plugin's share is less than they may come to;
// the next cycle has fewer.
func (p *Plugin) shrink() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.needed.Load() > p.share.Load() {
		p.drop(context.Background())
		p.cycle = cycleKey{} // the next call makes them
	}
}
