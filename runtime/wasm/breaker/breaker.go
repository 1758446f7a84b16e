package breaker

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// Breaker decides whether a plugin is called, for the pods of each namespace: pods that make a plugin fail
// must not keep it from the pods of others. A cycle counts as one call, however many
// calls of guests it is split into, and a fault is charged one start, however many
// instances start again: so its decisions do not depend on the number of workers. Whether it opens
// follows from calls and their fuel, never from time. How long it stays open is by the clock,
// which is an input. The state changes only on the scheduler's loop.
//
// The breaker is open for everybody if it is not closed for two namespaces or more, and if the last call for
// no other one was well. Then namespaces for which it never opened take turns: every Backoff one call is
// made for one of them, as a probe. The others have probes of their own.
type Breaker struct {
	config Config
	deps   Deps

	mu struct {
		sync.Mutex
		of    map[string]*machine // by namespace, at most maxNamespaces and the one of all others
		calls uint64
		// turn is when the next namespace may have a probe without faults of its own.
		turn time.Time
		// opened, first and last are of all namespaces.
		opened      int
		first, last *fault.Fault
		lastAt      time.Time
	}
}

// maxNamespaces is how many namespaces a breaker knows. If it is open for all of them, others share the
// state of one namespace.
const maxNamespaces = 256

// others stands for the namespaces beyond maxNamespaces, and for those without faults; no namespace has this name.
const others = ""

// New returns a closed breaker.
func New(c Config, d Deps) *Breaker {
	b := &Breaker{config: c.withDefaults(), deps: d}
	b.mu.of = make(map[string]*machine)
	return b
}

// find returns what is known of a namespace; nil if nothing is.
func (b *Breaker) find(namespace string) *machine {
	if m := b.mu.of[namespace]; m != nil {
		return m
	}
	if len(b.mu.of) <= maxNamespaces {
		return nil
	}
	return b.mu.of[others]
}

// get returns what is known of a namespace. If there is no room for a new one, it forgets the namespace
// whose last call is the longest ago, among those for which it is closed.
func (b *Breaker) get(namespace string) *machine {
	m := b.mu.of[namespace]
	if m == nil {
		if len(b.mu.of) >= maxNamespaces && !b.forget() {
			namespace = others
			m = b.mu.of[others]
		}
		if m == nil {
			m = &machine{namespace: namespace}
			b.mu.of[namespace] = m
		}
	}
	b.mu.calls++
	m.used = b.mu.calls
	return m
}

func (b *Breaker) forget() bool {
	var oldest *machine
	for _, m := range b.mu.of {
		if m.state == Closed && m.namespace != others && (oldest == nil || m.used < oldest.used) {
			oldest = m
		}
	}
	if oldest == nil {
		return false
	}
	delete(b.mu.of, oldest.namespace)
	return true
}

// everybody reports whether the plugin is called for nobody but as a probe.
func (b *Breaker) everybody() bool {
	open := 0
	for _, m := range b.mu.of {
		switch {
		case m.state != Closed:
			open++
		case m.well:
			return false
		}
	}
	return open > 1
}

// Allow reports whether the plugin may be called for a pod of a namespace. If the breaker is open and its
// time is up, the call is a probe.
func (b *Breaker) Allow(namespace string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, now := b.find(namespace), b.deps.Now()
	if m != nil && m.state != Closed {
		if m.state == Open && !now.Before(m.until) {
			b.change(m, HalfOpen)
		}
		return m.state != Open
	}
	if !b.everybody() {
		return true
	}
	if now.Before(b.mu.turn) {
		return false
	}
	failed := b.newest()
	if m = b.get(namespace); failed != nil {
		m.by = failed.by
	}
	m.until = now
	b.mu.turn = now.Add(b.config.Backoff)
	b.change(m, HalfOpen)
	return true
}

// IsOpen reports whether the breaker is open for a namespace. It changes nothing, so binding cycles may
// call it.
func (b *Breaker) IsOpen(namespace string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.find(namespace); m != nil && m.state != Closed {
		return m.state == Open
	}
	return b.everybody()
}

// Overspent reports whether starts of instances have used their fuel. It changes nothing,
// so binding cycles may call it.
func (b *Breaker) Overspent(namespace string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.find(namespace)
	return m != nil && m.over && m.state != HalfOpen
}

// Affords reports whether starts may use so much more fuel.
func (b *Breaker) Affords(namespace string, fuel int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := int64(0)
	if m := b.find(namespace); m != nil {
		used = m.starts()
	}
	return fuel == 0 || used+fuel <= b.deps.RestartFuel
}

// Charge takes in fuel for starts of instances that no fault is charged for, which a call at a point caused. If it is too much,
// the next call fails, and the breaker opens.
func (b *Breaker) Charge(namespace string, point abi.Point, fuel int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.get(namespace)
	if m.windows[point] == nil {
		m.windows[point] = &window{}
	}
	m.windows[point].charge(fuel)
	m.over = m.starts() > b.deps.RestartFuel
}

// Done takes in an outcome of calls for pods of a namespace.
func (b *Breaker) Done(namespace string, o *Outcome) {
	b.mu.Lock()
	recovered := false
	if o.Called() {
		before := b.everybody()
		recovered = b.record(b.get(namespace), o)
		if after := b.everybody(); after && !before {
			b.mu.turn = b.deps.Now().Add(b.config.Backoff)
		}
	}
	b.mu.Unlock()
	if recovered && b.deps.Recovered != nil {
		b.deps.Recovered()
	}
}

// OpenFault returns the fault of a call that is not made because the breaker is open.
func (b *Breaker) OpenFault(namespace string, point abi.Point) *fault.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := fault.Fault{Origin: b.deps.Origin, Point: point, Kind: fault.BreakerOpen, Detail: "the plugin is not called"}
	m, whose, until := b.find(namespace), "for pods of namespace "+namespace, time.Time{}
	if m == nil || m.state == Closed {
		m, whose, until = b.newest(), "for pods of any namespace", b.mu.turn
	} else {
		until = m.until
	}
	if m != nil && m.last != nil {
		f.Output = m.last.Output
		f.Detail = fmt.Sprintf("the plugin is not called %s until %s: %s, the last with %s at %s: %s",
			whose, until.UTC().Format(time.RFC3339), m.cause, m.last.Kind, m.last.Point, m.last.Detail)
	}
	return fault.New(f)
}

// newest returns the namespace with the last fault among those for which it is not closed; nil if there is none.
func (b *Breaker) newest() (found *machine) {
	for _, m := range b.mu.of {
		if m.state != Closed && m.last != nil && (found == nil || m.lastAt.After(found.lastAt) || m.lastAt.Equal(found.lastAt) && m.namespace < found.namespace) {
			found = m
		}
	}
	return found
}

// StartFault returns the fault of a call that is not made because there is no fuel to make
// an instance.
func (b *Breaker) StartFault(namespace string, point abi.Point) *fault.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	detail := fmt.Sprintf("starts of instances may use %d units of fuel in %d calls, which leaves too little for one more: raise "+
		"limits.fuelRestarts, or fuelForStarts of the grant, or repair the plugin", b.deps.RestartFuel, windowCalls)
	if m := b.find(namespace); m != nil && m.last != nil {
		detail += fmt.Sprintf("; the last fault was %s at %s: %s", m.last.Kind, m.last.Point, m.last.Detail)
	}
	return fault.New(fault.Fault{Origin: b.deps.Origin, Point: point, Kind: fault.Starting, Detail: detail})
}

// Retry is when the next probe may be made for a namespace, or for all that have no faults of their own if it has no name.
type Retry struct {
	Namespace string
	At        time.Time
}

// RetryAt returns when the next probe may be made for a namespace; false if none is needed.
func (b *Breaker) RetryAt(namespace string) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.find(namespace); m != nil && m.state != Closed {
		return m.until, true
	}
	return b.mu.turn, b.everybody()
}

// Retries returns when the next probes may be made: first for the namespaces without faults of their own, if the breaker is
// open for everybody, then for each for which it is not closed.
func (b *Breaker) Retries() (out []Retry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.mu.of {
		if m.state != Closed && m.namespace != others {
			out = append(out, Retry{Namespace: m.namespace, At: m.until})
		}
	}
	if m := b.mu.of[others]; m != nil && m.state != Closed {
		out = append(out, Retry{At: m.until})
	} else if len(out) > 1 && b.everybody() {
		out = append(out, Retry{At: b.mu.turn})
	}
	own := func(r Retry) int {
		if r.Namespace == others {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(x, y Retry) int {
		return cmp.Or(own(x)-own(y), x.At.Compare(y.At), cmp.Compare(x.Namespace, y.Namespace))
	})
	return out
}
