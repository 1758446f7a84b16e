package follow

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// Meter counts what canaries do in the attempts of a scheduler, as its Observer. The zero value watches
// none.
type Meter struct {
	any atomic.Bool // tells the loop, without a lock, whether any are watched
	mu  struct {
		sync.Mutex
		watched map[string]*watched // by the canary's name
	}
}

// Step says what is counted together: a canary at a step.
type Step struct {
	// Canary and Stable are the names of the versions in profiles.
	Canary, Stable string
	// Number is the step's, and Since when it began, which tells two rollouts apart.
	Number int32
	Since  time.Time
	// P99 is the bound of time of its calls; 0 for none.
	P99 time.Duration
}

// watched is a step and what was counted so far.
type watched struct {
	step    Step
	counts  rollout.Counts
	before  Totals
	faulted map[uint64]bool // attempts that have not ended
	seen    bool
}

// Totals are counts that others keep, which only grow.
type Totals struct {
	Rows, Fuel, Compared, Changed int64
}

// Watch returns what was counted of a step, from the first call of Watch about it. now are the totals of
// the canary.
func (m *Meter) Watch(s Step, now Totals) rollout.Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.mu.watched[s.Canary]
	if w == nil || w.step != s {
		w = &watched{step: s, before: now, faulted: make(map[uint64]bool)}
		if m.mu.watched == nil {
			m.mu.watched = make(map[string]*watched)
		}
		m.mu.watched[s.Canary] = w
	}
	w.seen = true
	m.any.Store(true)
	if now.Rows < w.before.Rows || now.Compared < w.before.Compared {
		w.before = Totals{} // the canary was started again
	}
	c := w.counts
	c.Rows, c.Fuel = now.Rows-w.before.Rows, now.Fuel-w.before.Fuel
	c.Compared, c.Changed = now.Compared-w.before.Compared, now.Changed-w.before.Changed
	return c
}

// Forget stops counting what was not watched since the last call.
func (m *Meter) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, w := range m.mu.watched {
		if !w.seen {
			delete(m.mu.watched, name)
		}
		w.seen = false
	}
	m.any.Store(len(m.mu.watched) > 0)
}

// attempts returns how many a version decided at the step that is watched, by its name in profiles.
func (m *Meter) attempts(version string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.mu.watched {
		switch version {
		case w.step.Canary:
			return w.counts.Attempts
		case w.step.Stable:
			return w.counts.Others
		}
	}
	return 0
}

// Watches reports whether anything is watched.
func (m *Meter) Watches() bool { return m.any.Load() }

// Attempted implements scheduler.Observer.
func (m *Meter) Attempted(a *report.Attempt, _ func(row uint32) string) {
	if !m.any.Load() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.mu.watched {
		w.attempted(a)
	}
}

// Ended implements scheduler.Observer.
func (m *Meter) Ended(e *report.Ending) {
	if !m.any.Load() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.mu.watched {
		w.ended(e)
	}
}

func (w *watched) attempted(a *report.Attempt) {
	t := w.take(a.Timings)
	switch {
	case t.stable && !t.canary:
		w.counts.Others++
		return
	case !t.canary:
		return
	}
	w.counts.Attempts++
	if t.faults {
		w.counts.Faulted++
		if a.Node != "" {
			w.faulted[a.Sequence] = true
		}
	}
	for i := range a.Rejections {
		t.rejected = t.rejected || a.Rejections[i].Plugin == w.step.Canary
	}
	if a.Node == "" && a.Code.Rejected() && t.rejected {
		w.counts.Pending++
	}
	if w.step.P99 > 0 && t.took > w.step.P99 {
		w.counts.Slow++
	}
}

func (w *watched) ended(e *report.Ending) {
	t := w.take(e.Timings)
	if t.faults && !w.faulted[e.Sequence] {
		w.counts.Faulted++
	}
	delete(w.faulted, e.Sequence)
	if t.rejected && e.Code.Rejected() {
		w.counts.Pending++
	}
}

// part is what versions did in an attempt.
type part struct {
	canary, stable, faults, rejected bool
	took                             time.Duration
}

func (w *watched) take(timings []report.Timing) (p part) {
	for i := range timings {
		t := &timings[i]
		switch t.Plugin {
		case w.step.Stable:
			p.stable = true
		case w.step.Canary:
			p.canary = true
			p.faults = p.faults || t.Faults > 0
			p.rejected = p.rejected || t.Code.Rejected() && t.Point != abi.Filter // its rejections are by node
			p.took += t.Duration
		}
	}
	return p
}
