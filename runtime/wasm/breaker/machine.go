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
//	Closed ── faults in a row at a point, many of its last calls, or no fuel for starts ─▶ Open
//	Open ── its time is up ─▶ HalfOpen ── a fault ─▶ Open, for longer
//	                          HalfOpen ── no fault in a cycle, or at the point that opened it ─▶ Closed
//
// The Breaker's mutex guards it.
type machine struct {
	namespace string
	state     State
	streak    [abi.NumPoints]int     // faults in a row
	windows   [abi.NumPoints]*window // nil until the first fault or start at the point
	over      bool                   // starts have used their fuel
	until     time.Time              // when the next probe may be made
	backoff   time.Duration          // of the last time, 0 if windowCalls calls at the point went by since
	cause     string                 // of the last time
	by        abi.Point              // at which the fault was that opened it the last time
	last      *fault.Fault
	lastAt    time.Time
	opened    int
	well      bool   // the last call was not faulted
	used      uint64 // number of the last call among those of the breaker
}

// starts returns the fuel of starts in the last calls at all points.
func (m *machine) starts() (fuel int64) {
	for _, w := range m.windows {
		if w != nil {
			fuel += w.starts
		}
	}
	return fuel
}

// failure is what speaks for opening a breaker.
type failure struct {
	faulted, starting bool
	point             abi.Point // of the worst
	streak            int
	window            *window
}

// record takes in an outcome. It reports whether the plugin works again for the namespace.
func (b *Breaker) record(m *machine, o *Outcome) (recovered bool) {
	bad := b.add(m, o)
	m.well = !bad.faulted
	m.over = (bad.faulted || o.starts > 0) && m.starts() > b.deps.RestartFuel
	if !bad.faulted {
		// A call that always succeeds tells nothing of the point that failed.
		if m.state != HalfOpen || !o.cycle && !o.called[m.by] {
			return false
		}
		b.change(m, Closed)
		return true
	}
	switch w := bad.window; {
	case b.config.Faults < 0, m.state == Open:
		return false
	case m.state == HalfOpen:
		m.cause = "the call to try it was faulted"
	case bad.starting:
		m.cause = fmt.Sprintf("starts of instances used %d of %d units in %d calls", m.starts(), b.deps.RestartFuel, windowCalls)
	case bad.streak >= b.config.Faults:
		m.cause = fmt.Sprintf("%d calls in a row were faulted", bad.streak)
	case w.weight >= b.config.OfLast && w.weight > w.faults:
		m.cause = fmt.Sprintf("%d of the last %d calls at %s were faulted, and count as %d for the fuel that they used",
			w.faults, windowCalls, bad.point, w.weight)
	case w.weight >= b.config.OfLast:
		m.cause = fmt.Sprintf("%d of the last %d calls at %s were faulted", w.faults, windowCalls, bad.point)
	default:
		return false
	}
	if m.by = bad.point; bad.window.closed+1 >= windowCalls { // with the call that closed it
		m.backoff = 0
	}
	b.change(m, Open)
	return false
}

// add adds an outcome to the windows, and returns the worst of its faults. The fuel of starts goes to the first point
// that was called: for cycles that is the same one, as a rule.
func (b *Breaker) add(m *machine, o *Outcome) (bad failure) {
	starts := o.starts
	for i, f := range o.faults {
		if !o.called[i] {
			continue
		}
		w := m.windows[i]
		if w == nil && (f != nil || starts > 0) {
			w = &window{}
			m.windows[i] = w
		}
		e := ended{starts: starts}
		if f != nil {
			e.weight = weigh(o.used[i], b.deps.CycleFuel)
		}
		if starts = 0; w != nil {
			w.add(e)
		}
		if f == nil {
			m.streak[i] = 0
			continue
		}
		m.streak[i]++
		bad.streak = max(bad.streak, m.streak[i])
		if bad.window == nil || w.weight > bad.window.weight {
			bad.window, bad.point = w, abi.Point(i)
		}
		bad.faulted, bad.starting = true, bad.starting || f.Kind == fault.Starting
		if f.Kind != fault.Starting || m.last == nil {
			m.last, m.lastAt = f, b.deps.Now() // a Starting only follows from an earlier fault
			b.mu.first, b.mu.last, b.mu.lastAt = cmp.Or(b.mu.first, f), f, m.lastAt
		}
	}
	return bad
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
		m.streak, m.over = [abi.NumPoints]int{}, false
		for _, w := range m.windows {
			if w != nil {
				w.forgive()
			}
		}
	}
	m.state = to
}
