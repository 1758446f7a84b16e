package breaker

import (
	"cmp"
	"fmt"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// machine is what a breaker knows of the calls about pods of one namespace.
//
//	Closed ── faults in a row, many of the last calls, or no fuel for starts ─▶ Open
//	Open ── its time is up ─▶ HalfOpen ── a fault ─▶ Open, for longer
//	                          HalfOpen ── no fault ─▶ Closed
//
// The Breaker's mutex guards it.
type machine struct {
	namespace string
	state     State
	streak    [abi.NumPoints]int // faults in a row
	window    window
	over      bool          // starts have used their fuel
	closed    int           // calls since it was closed, up to windowCalls
	until     time.Time     // when the next probe may be made
	backoff   time.Duration // of the last time, 0 after windowCalls calls without
	cause     string        // of the last time
	last      *fault.Fault
	lastAt    time.Time
	opened    int
	well      bool   // the last call was not faulted
	used      uint64 // number of the last call among those of the breaker
}

// record takes in an outcome. It reports whether the plugin works again for the namespace.
func (b *Breaker) record(m *machine, o *Outcome) (recovered bool) {
	var faulted *fault.Fault
	called, streak := false, 0
	starting := false
	for point, f := range o.faults {
		switch {
		case !o.called[point]:
		case f == nil:
			called, m.streak[point] = true, 0
		default:
			called, faulted = true, f
			m.streak[point]++
			streak = max(streak, m.streak[point])
			if starting = starting || f.Kind == fault.Starting; f.Kind != fault.Starting || m.last == nil {
				m.last, m.lastAt = f, b.deps.Now() // a Starting only follows from an earlier fault
				b.mu.first, b.mu.last, b.mu.lastAt = cmp.Or(b.mu.first, f), f, m.lastAt
			}
		}
	}
	if !called {
		return false
	}
	m.well = faulted == nil
	m.window.add(ended{faulted != nil, o.starts})
	m.over = (faulted != nil || o.starts > 0) && m.window.starts > b.deps.RestartFuel
	if m.closed++; m.closed >= windowCalls {
		m.closed, m.backoff = windowCalls, 0
	}
	if faulted == nil {
		if m.state != HalfOpen {
			return false
		}
		b.change(m, Closed)
		return true
	}
	switch {
	case b.config.Faults < 0, m.state == Open:
		return false
	case m.state == HalfOpen:
		m.cause = "the call to try it was faulted"
	case starting:
		m.cause = fmt.Sprintf("starts after faults used %d of %d units in %d calls", m.window.starts, b.deps.RestartFuel, windowCalls)
	case streak >= b.config.Faults:
		m.cause = fmt.Sprintf("%d calls in a row were faulted", streak)
	case m.window.faults >= b.config.OfLast:
		m.cause = fmt.Sprintf("%d of the last %d calls were faulted", m.window.faults, windowCalls)
	default:
		return false
	}
	b.change(m, Open)
	return false
}

// change sets the state.
func (b *Breaker) change(m *machine, to State) {
	log := b.deps.Log.With("namespace", m.namespace)
	switch to {
	case Open:
		m.backoff = max(b.config.Backoff, min(2*m.backoff, b.config.MaxBackoff))
		m.until = b.deps.Now().Add(m.backoff)
		m.opened++
		b.mu.opened++
		log.Warn("plugin is not called for a while: its breaker opens", "cause", m.cause, "retryIn", m.backoff, "opened", m.opened, "fault", m.last)
	case HalfOpen:
		log.Info("plugin is called to see whether it works again: its breaker is half open", "opened", m.opened)
	case Closed:
		log.Info("plugin works again: its breaker closes", "opened", m.opened)
		m.streak, m.closed, m.over = [abi.NumPoints]int{}, 0, false
		m.window.forgive()
	}
	m.state = to
}
