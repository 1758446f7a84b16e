package wasm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// allowance is what the call that runs may use, and what it has used.
type allowance struct {
	limits Limits
	// grant is the call's fuel, and used what it took of it.
	grant, used int64
	// ctx ends the call, and cause says why it did; nil for the deadline.
	ctx    context.Context
	cause  error
	stop   bool // the call is to end
	watch  clock.Stopwatch
	yields int
	rested time.Duration // of the call, when it last stood aside
	gauges *gauges       // nil if the guest is not metered
}

// charge takes fuel for what a host function does for a guest, in iterations (see
// fuel_prices.go). It is the guest's trap if there is not as much, and nothing is taken then.
func (a *allowance) charge(iterations int64) {
	if a.gauges != nil && !a.gauges.take(meter.Iteration*iterations) {
		panic(errNoFuel)
	}
}

// errNoFuel is the panic value of a host function that cannot be paid.
var errNoFuel = errors.New("the host function costs more fuel than is left")

const (
	// yieldsPerLook is after how many yields the clock is read: a yield is made every
	// few microseconds.
	yieldsPerLook = 4
	// longCall is after how long a call stands aside, and restEvery how often. When guests
	// have all processors of Go, it looks only every 10 ms whether an answer of the API
	// server has come, and bindings of other pods would wait for that.
	longCall  = 2 * time.Millisecond
	restEvery = 250 * time.Microsecond
)

// yield is where a guest lets the scheduler's process breathe (see package meter).
// It reports whether the call is to end.
func (a *allowance) yield() bool {
	if a.yields++; a.yields%yieldsPerLook == 0 || a.rested > 0 {
		if a.ctx.Err() != nil {
			a.cause = context.Cause(a.ctx)
		}
		elapsed := a.watch.Elapsed()
		a.stop = a.cause != nil || elapsed > a.limits.Deadline
		if elapsed > longCall && elapsed > a.rested+restEvery {
			// The shortest that frees the processor; Gosched takes no look at the network.
			time.Sleep(time.Nanosecond) //nolint:forbidigo // nothing depends on how long it takes
			a.rested = a.watch.Elapsed()
		}
	}
	return a.stop
}

// meterModule makes the function that rewritten modules import.
func meterModule(ctx context.Context, r wazero.Runtime) error {
	yield := api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
		stack[0] = 0
		if ctx.Value(envKey{}).(*Env).yield() {
			stack[0] = 1
		}
	})
	_, err := r.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().
		WithGoModuleFunction(yield, nil, []api.ValueType{api.ValueTypeI32}).Export(meter.YieldImport).Instantiate(ctx)
	return err
}

// gauges are the globals of a rewritten module.
type gauges struct {
	fuel, slice, depth, status api.MutableGlobal
	info                       *meter.Info
}

func newGauges(m api.Module, info *meter.Info) (*gauges, error) {
	if info == nil {
		return nil, nil
	}
	g := &gauges{info: info}
	for name, to := range map[string]*api.MutableGlobal{
		meter.FuelExport: &g.fuel, meter.SliceExport: &g.slice, meter.DepthExport: &g.depth, meter.StatusExport: &g.status,
	} {
		global, ok := m.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return nil, fmt.Errorf("BUG: a rewritten module has no global %s", name)
		}
		*to = global
	}
	return g, nil
}

// mostUnits is the most fuel that a call can have; what is counted are grains.
const mostUnits = math.MaxInt64 / meter.Unit

// fill gives the guest fuel for a call, in units, and all of its frames.
func (g *gauges) fill(grant int64) {
	fuel := min(grant, mostUnits) * meter.Unit
	slice := min(fuel, int64(g.info.Slice))
	g.slice.Set(uint64(uint32(slice)))
	g.fuel.Set(uint64(fuel - slice))
	g.depth.Set(uint64(g.info.MaxDepth))
	g.status.Set(uint64(meter.Running))
}

// take takes fuel while a host function runs, as the guest's own checks do: they see it
// at once, since code reads its globals again after a call. What exceeds the slice
// ends it, so that the guest yields at its next check.
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

// used returns the fuel that a call took of its grant, in units of which one that was
// begun is one.
func (g *gauges) used(grant int64) int64 {
	// The slice is negative where a function has charged and its next check has not come.
	left := max(int64(g.fuel.Get())+int64(int32(g.slice.Get())), 0)
	return min(grant, mostUnits) - left/meter.Unit
}

// metered is a trap of the code that counts.
type metered struct {
	status meter.Status
	limits *Limits
	grant  int64
	cause  error // of Stopped, if it was not the deadline
	trap   error
}

// Error says which limit was reached.
func (m *metered) Error() string {
	switch m.status {
	case meter.OutOfFuel:
		return fmt.Sprintf("the call used its fuel of %d units", m.grant)
	case meter.TooDeep:
		return fmt.Sprintf("more than %d frames of functions", m.limits.Depth)
	case meter.Stopped:
		if m.cause != nil {
			return "the call was interrupted: " + m.cause.Error()
		}
		return fmt.Sprintf("the call took longer than %v", m.limits.Deadline)
	}
	return m.trap.Error()
}

// Unwrap returns the trap.
func (m *metered) Unwrap() error { return m.trap }

// trapKind returns what kind of fault an error of a call is.
func trapKind(err error) fault.Kind {
	var m *metered
	if errors.As(err, &m) {
		return m.kind()
	}
	return fault.Trap
}

// kind returns what kind of fault an error of a call is.
func (m *metered) kind() fault.Kind {
	switch m.status {
	case meter.OutOfFuel:
		return fault.OutOfFuel
	case meter.TooDeep:
		return fault.StackOverflow
	case meter.Stopped:
		if m.cause != nil {
			return fault.Interrupted
		}
		return fault.Deadline
	}
	return fault.Trap
}
