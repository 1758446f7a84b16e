package wasm

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// BreakerConfig is when a plugin that keeps failing is left alone.
type BreakerConfig struct {
	// Faults is how many cycles or calls in a row must be faulted at one point, and
	// OfLast how many of the last 100, whatever the points; 0 means 5 and 25. A negative
	// number of Faults means never, by none of the two nor by the fuel of starts.
	Faults, OfLast int
	// Backoff is how long it is left alone at first, and MaxBackoff at most; it
	// doubles with each failed probe, and each time that it is left alone again before
	// 100 calls went by. 0 means 1 s and 5 min.
	Backoff, MaxBackoff time.Duration
}

func (c *BreakerConfig) setDefaults() {
	if c.Faults == 0 {
		c.Faults = 5
	}
	if c.OfLast == 0 {
		c.OfLast = 25
	}
	if c.Backoff <= 0 {
		c.Backoff = time.Second
	}
	if c.MaxBackoff <= 0 {
		c.MaxBackoff = 5 * time.Minute
	}
	c.MaxBackoff = max(c.MaxBackoff, c.Backoff)
}

// BreakerState is whether a plugin is called.
type BreakerState uint8

// The states.
const (
	// Closed calls the plugin.
	Closed BreakerState = iota
	// Open does not call it: every call is a fault at once.
	Open
	// HalfOpen calls it to see whether it works again.
	HalfOpen
)

// String returns the state in lower case.
func (s BreakerState) String() string {
	return [...]string{"closed", "open", "half-open"}[s]
}

// breaker leaves a plugin alone that keeps failing, or that uses too much fuel to start
// again after its faults. Cycles count as one call, however many calls of guests they are
// split into, and a fault is charged one start, however many instances start again: so
// nothing of it depends on the number of workers. It depends on the clock, which is an
// input. Its state changes in change alone, on the scheduler's loop.
type breaker struct {
	config BreakerConfig
	now    func() time.Time
	// price is the fuel of one start, and starts what those after the faults of the last
	// 100 calls may use.
	price, starts int64

	mu struct {
		sync.Mutex
		state   BreakerState
		streak  [abi.NumPoints]int // faults in a row
		window  window
		over    bool          // starts have used their fuel
		closed  int           // calls since it was closed, up to windowCalls
		until   time.Time     // when the next probe may be made
		backoff time.Duration // of the last time, 0 after windowCalls calls without
		cause   string        // of the last time
		last    *fault.Fault
		lastAt  time.Time
		opened  int // how often it was
	}
	// closed (optional) hears that the plugin works again.
	closed func()
	log    *slog.Logger
}

// allow reports whether the plugin may be called; if its time has come, as a
// probe.
func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.state == Open && !b.now().Before(b.mu.until) {
		b.change(HalfOpen)
	}
	return b.mu.state != Open
}

// open reports whether the plugin is left alone, and overspent whether starts have used
// their fuel. They change nothing, so that binding cycles may ask.
func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.state == Open
}

func (b *breaker) overspent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.over && b.mu.state != HalfOpen
}

// affords reports whether n more starts are within the budget.
func (b *breaker) affords(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return n == 0 || b.mu.window.starts+n*b.price <= b.starts
}

// done takes in an outcome.
func (b *breaker) done(o *outcome) {
	recovered := b.record(o)
	if recovered && b.closed != nil {
		b.closed()
	}
}

func (b *breaker) record(o *outcome) (recovered bool) {
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
				b.mu.last, b.mu.lastAt = f, b.now() // not what only follows from it
			}
		}
	}
	if !called {
		return false
	}
	b.mu.window.add(ended{faulted != nil, o.starts * b.price})
	b.mu.over = (faulted != nil || o.starts > 0) && b.mu.window.starts > b.starts
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
		b.mu.cause = fmt.Sprintf("starts after faults used %d of %d units in %d calls", b.mu.window.starts, b.starts, windowCalls)
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

// change sets the state: every change of it is made here, with b.mu held.
func (b *breaker) change(to BreakerState) {
	switch to {
	case Open:
		b.mu.backoff = max(b.config.Backoff, min(2*b.mu.backoff, b.config.MaxBackoff))
		b.mu.until = b.now().Add(b.mu.backoff)
		b.mu.opened++
		b.log.Warn("plugin is not called for a while: its breaker opens", "cause", b.mu.cause, "retryIn", b.mu.backoff, "opened", b.mu.opened, "fault", b.mu.last)
	case HalfOpen:
		b.log.Info("plugin is called to see whether it works again: its breaker is half open", "opened", b.mu.opened)
	case Closed:
		b.log.Info("plugin works again: its breaker closes", "opened", b.mu.opened)
		b.mu.streak, b.mu.closed, b.mu.over = [abi.NumPoints]int{}, 0, false
		b.mu.window.forgive()
	}
	b.mu.state = to
}

// fault returns the fault of a call that is not made.
func (b *breaker) fault(p *Plugin, point abi.Point) *fault.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	detail, output := "the plugin is not called", ""
	if b.mu.last != nil {
		output = b.mu.last.Output
		detail = fmt.Sprintf("the plugin is not called until %s: %s, the last with %s at %s: %s",
			b.mu.until.UTC().Format(time.RFC3339), b.mu.cause, b.mu.last.Kind, b.mu.last.Point, b.mu.last.Detail)
	}
	return fault.New(fault.Fault{Origin: p.origin(), Point: point, Kind: fault.BreakerOpen, Detail: detail, Output: output})
}

// starting returns the fault of a call for which no instance is made.
func (b *breaker) starting(p *Plugin, point abi.Point) *fault.Fault {
	b.mu.Lock()
	detail := fmt.Sprintf("a start takes %d units of fuel, and starts after faults may use %d in %d calls", b.price, b.starts, windowCalls)
	if last := b.mu.last; last != nil {
		detail += fmt.Sprintf("; the last fault was %s at %s: %s", last.Kind, last.Point, last.Detail)
	}
	b.mu.Unlock()
	return p.fault(point, fault.Starting, detail, nil)
}

// retryAt returns from when on a probe may be made; false if none is needed.
func (b *breaker) retryAt() (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.until, b.mu.state != Closed
}
