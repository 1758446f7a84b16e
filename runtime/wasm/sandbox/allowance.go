package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// allowance is what the call that runs may use, and what it has used.
type allowance struct {
	limits Limits
	// grant is the call's fuel, and used what it took of it.
	grant, used int64
	// ctx ends the call, and cause says why it ended; nil for the deadline.
	ctx      context.Context
	cause    error
	deadline time.Duration
	stop     bool // the call is to end
	watch    clock.Stopwatch
	yields   int
	rested   time.Duration // of the call, when it last freed its processor
	gauges   *gauges       // nil if the guest is not metered
}

// begin begins a call with so much fuel, until ctx ends.
func (a *allowance) begin(ctx context.Context, grant int64) {
	a.grant, a.used, a.yields, a.rested = grant, 0, 0, 0
	a.ctx, a.cause, a.deadline, a.stop = ctx, nil, a.limits.CallDeadline(grant), false
	a.watch = clock.Start()
}

// Charge takes fuel for what a host function does for a guest, in loop iterations (see
// prices.go). If there is not enough, nothing is taken and the guest traps.
func (a *allowance) Charge(iterations int64) {
	if a.gauges != nil && !a.gauges.take(meter.Iteration*iterations) {
		panic(errNoFuel)
	}
}

// errNoFuel is the panic value of a host function that the guest cannot pay.
var errNoFuel = errors.New("the host function costs more fuel than is left")

const (
	// yieldsPerLook is after how many yields the clock is read: a guest yields every
	// few microseconds.
	yieldsPerLook = 4
	// longCall is when a call begins to free its processor, and restEvery how often it
	// does. While guests have all processors of Go, Go looks for answers of the API server
	// only every 10 ms, and bindings of other pods would wait for that.
	longCall  = 2 * time.Millisecond
	restEvery = 250 * time.Microsecond
)

// yield is where a guest lets the scheduler's process run (see package meter). It reports
// whether the call is to end.
func (a *allowance) yield() bool {
	if a.yields++; a.yields%yieldsPerLook == 0 || a.rested > 0 {
		if a.ctx.Err() != nil {
			a.cause = context.Cause(a.ctx)
		}
		elapsed := a.watch.Elapsed()
		a.stop = a.cause != nil || elapsed > a.deadline
		if elapsed > longCall && elapsed > a.rested+restEvery {
			// The shortest sleep that frees the processor; Gosched does not look at the network.
			time.Sleep(time.Nanosecond) //nolint:forbidigo // nothing depends on how long it takes
			a.rested = a.watch.Elapsed()
		}
	}
	return a.stop
}
