package sandbox

import (
	"fmt"
	"math"

	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// gauges are the globals of a rewritten module.
type gauges struct {
	fuel, slice, depth, status api.MutableGlobal
	info                       *meter.Info
}

func newGauges(g *instance, info *meter.Info) (*gauges, error) {
	if info == nil {
		return nil, nil
	}
	out := &gauges{info: info}
	for name, to := range map[string]*api.MutableGlobal{
		meter.FuelExport: &out.fuel, meter.SliceExport: &out.slice, meter.DepthExport: &out.depth, meter.StatusExport: &out.status,
	} {
		if *to = g.Global(name); *to == nil {
			return nil, fmt.Errorf("BUG: a rewritten module has no global %s", name)
		}
	}
	return out, nil
}

// maxUnits is the most fuel that a call can have in units; the globals count smaller
// grains.
const maxUnits = math.MaxInt64 / meter.Unit

// fill gives the guest fuel for a call, in units, and so many of its frames.
func (g *gauges) fill(grant int64, frames uint32) {
	fuel := min(grant, maxUnits) * meter.Unit
	slice := min(fuel, int64(g.info.Slice))
	g.slice.Set(uint64(uint32(slice)))
	g.fuel.Set(uint64(fuel - slice))
	g.depth.Set(uint64(frames))
	g.status.Set(uint64(meter.Running))
}

// lacksFrames reports whether the guest yields because it has no frame left.
func (g *gauges) lacksFrames() bool { return int32(g.depth.Get()) < 0 }

// addFrames gives the guest more frames during a call.
func (g *gauges) addFrames(n uint32) { g.depth.Set(uint64(uint32(g.depth.Get()) + n)) }

// take takes fuel while a host function runs, as the guest's own checks do. Those see it at
// once, since code reads its globals again after a call. If the slice does not suffice it
// is set to 0, so that the guest yields at its next check.
func (g *gauges) take(grains int64) bool {
	slice := int64(int32(g.slice.Get()))
	if grains <= slice {
		g.slice.Set(uint64(uint32(slice - grains)))
		return true
	}
	left := int64(g.fuel.Get()) + slice - grains
	if left < 0 {
		g.status.Set(uint64(meter.OutOfFuel))
		return false
	}
	g.slice.Set(0)
	g.fuel.Set(uint64(left))
	return true
}

// used returns the fuel that a call took of its grant, in units. A unit that was begun counts
// as a whole one.
func (g *gauges) used(grant int64) int64 {
	// The slice is negative if a function has charged and its next check is still to come.
	left := max(int64(g.fuel.Get())+int64(int32(g.slice.Get())), 0)
	return min(grant, maxUnits) - left/meter.Unit
}
