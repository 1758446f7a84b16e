package breaker

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// Breaker decides whether a plugin is called. A cycle counts as one call, however many
// calls of guests it is split into, and a fault is charged one start, however many
// instances start again: so its decisions do not depend on the number of workers. They
// depend on the clock, which is an input. The state changes only on the scheduler's loop,
// in change.
type Breaker struct {
	config Config
	deps   Deps

	mu struct {
		sync.Mutex
		state   State
		streak  [abi.NumPoints]int // faults in a row
		window  window
		over    bool          // starts have used their fuel
		closed  int           // calls since it was closed, up to windowCalls
		until   time.Time     // when the next probe may be made
		backoff time.Duration // of the last time, 0 after windowCalls calls without
		cause   string        // of the last time
		last    *fault.Fault
		first   *fault.Fault
		lastAt  time.Time
		opened  int
	}
}

// New returns a closed breaker.
func New(c Config, d Deps) *Breaker { return &Breaker{config: c.withDefaults(), deps: d} }

// Allow reports whether the plugin may be called. If the breaker is open and its time is
// up, the call is a probe.
func (b *Breaker) Allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.state == Open && !b.deps.Now().Before(b.mu.until) {
		b.change(HalfOpen)
	}
	return b.mu.state != Open
}

// IsOpen reports whether the breaker is open. It changes nothing, so binding cycles may
// call it.
func (b *Breaker) IsOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.state == Open
}

// Overspent reports whether starts after faults have used their fuel. It changes nothing,
// so binding cycles may call it.
func (b *Breaker) Overspent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.over && b.mu.state != HalfOpen
}

// Affords reports whether starts may use so much more fuel.
func (b *Breaker) Affords(fuel int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fuel == 0 || b.mu.window.starts+fuel <= b.deps.RestartFuel
}

// Done takes in an outcome.
func (b *Breaker) Done(o *Outcome) {
	recovered := b.record(o)
	if recovered && b.deps.Recovered != nil {
		b.deps.Recovered()
	}
}

func (b *Breaker) record(o *Outcome) (recovered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var faulted *fault.Fault
	called, streak := false, 0
	starting := false
	for point, f := range o.faults {
		switch {
		case !o.called[point]:
		case f == nil:
			called, b.mu.streak[point] = true, 0
		default:
			called, faulted = true, f
			b.mu.streak[point]++
			streak = max(streak, b.mu.streak[point])
			if starting = starting || f.Kind == fault.Starting; f.Kind != fault.Starting || b.mu.last == nil {
				b.mu.last, b.mu.lastAt = f, b.deps.Now() // a Starting only follows from an earlier fault
				b.mu.first = cmp.Or(b.mu.first, f)
			}
		}
	}
	if !called {
		return false
	}
	b.mu.window.add(ended{faulted != nil, o.starts})
	b.mu.over = (faulted != nil || o.starts > 0) && b.mu.window.starts > b.deps.RestartFuel
	if b.mu.closed++; b.mu.closed >= windowCalls {
		b.mu.closed, b.mu.backoff = windowCalls, 0
	}
	if faulted == nil {
		if b.mu.state != HalfOpen {
			return false
		}
		b.change(Closed)
		return true
	}
	switch {
	case b.config.Faults < 0, b.mu.state == Open:
		return false
	case b.mu.state == HalfOpen:
		b.mu.cause = "the call to try it was faulted"
	case starting:
		b.mu.cause = fmt.Sprintf("starts after faults used %d of %d units in %d calls", b.mu.window.starts, b.deps.RestartFuel, windowCalls)
	case streak >= b.config.Faults:
		b.mu.cause = fmt.Sprintf("%d calls in a row were faulted", streak)
	case b.mu.window.faults >= b.config.OfLast:
		b.mu.cause = fmt.Sprintf("%d of the last %d calls were faulted", b.mu.window.faults, windowCalls)
	default:
		return false
	}
	b.change(Open)
	return false
}

// change sets the state. The caller holds b.mu.
func (b *Breaker) change(to State) {
	log := b.deps.Log
	switch to {
	case Open:
		b.mu.backoff = max(b.config.Backoff, min(2*b.mu.backoff, b.config.MaxBackoff))
		b.mu.until = b.deps.Now().Add(b.mu.backoff)
		b.mu.opened++
		log.Warn("plugin is not called for a while: its breaker opens", "cause", b.mu.cause, "retryIn", b.mu.backoff, "opened", b.mu.opened, "fault", b.mu.last)
	case HalfOpen:
		log.Info("plugin is called to see whether it works again: its breaker is half open", "opened", b.mu.opened)
	case Closed:
		log.Info("plugin works again: its breaker closes", "opened", b.mu.opened)
		b.mu.streak, b.mu.closed, b.mu.over = [abi.NumPoints]int{}, 0, false
		b.mu.window.forgive()
	}
	b.mu.state = to
}

// OpenFault returns the fault of a call that is not made because the breaker is open.
func (b *Breaker) OpenFault(point abi.Point) *fault.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := fault.Fault{Origin: b.deps.Origin, Point: point, Kind: fault.BreakerOpen, Detail: "the plugin is not called"}
	if last := b.mu.last; last != nil {
		f.Output = last.Output
		f.Detail = fmt.Sprintf("the plugin is not called until %s: %s, the last with %s at %s: %s",
			b.mu.until.UTC().Format(time.RFC3339), b.mu.cause, last.Kind, last.Point, last.Detail)
	}
	return fault.New(f)
}

// StartFault returns the fault of a call that is not made because there is no fuel to make
// an instance.
func (b *Breaker) StartFault(point abi.Point) *fault.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	detail := fmt.Sprintf("starts after faults may use %d units of fuel in %d calls, which leaves too little for one more: raise limits.fuelRestarts, or repair the plugin", b.deps.RestartFuel, windowCalls)
	if last := b.mu.last; last != nil {
		detail += fmt.Sprintf("; the last fault was %s at %s: %s", last.Kind, last.Point, last.Detail)
	}
	return fault.New(fault.Fault{Origin: b.deps.Origin, Point: point, Kind: fault.Starting, Detail: detail})
}

// RetryAt returns when the next probe may be made; false if none is needed.
func (b *Breaker) RetryAt() (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.until, b.mu.state != Closed
}
