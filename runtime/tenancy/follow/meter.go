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
	step   Step
	its    side
	stable side
	before Totals
	seen   bool
}

// side is what was counted of a version.
type side struct {
	tally   rollout.Tally
	faulted map[uint64]bool // attempts that have not ended
}

// Totals are counts that others keep, which only grow: of the canary, of its trial and of the stable version.
type Totals struct {
	Canary, Trial, Stable rollout.Used
	Again                 rollout.Again
}

// Watch returns what was counted of a step, from the first call of Watch about it.
func (m *Meter) Watch(s Step, now Totals) rollout.Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.mu.watched[s.Canary]
	if w == nil || w.step != s {
		w = &watched{step: s, before: now, its: side{faulted: make(map[uint64]bool)}, stable: side{faulted: make(map[uint64]bool)}}
		if m.mu.watched == nil {
			m.mu.watched = make(map[string]*watched)
		}
		m.mu.watched[s.Canary] = w
	}
	w.seen = true
	m.any.Store(true)
	c := rollout.Counts{Tally: w.its.tally, Stable: w.stable.tally, Again: now.Again.Since(w.before.Again)}
	c.Used = now.Canary.Since(w.before.Canary).Plus(now.Trial.Since(w.before.Trial))
	c.Stable.Used = now.Stable.Since(w.before.Stable)
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
			return w.its.tally.Attempts
		case w.step.Stable:
			return w.stable.tally.Attempts
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
	v, p := w.took(a.Timings)
	if v == nil {
		return
	}
	v.tally.Attempts++
	if p.faults {
		v.tally.Faulted++
		if a.Node != "" {
			v.faulted[a.Sequence] = true
		}
	}
	for i := range a.Rejections {
		p.rejected = p.rejected || a.Rejections[i].Plugin == p.name
	}
	if a.Node == "" && a.Code.Rejected() {
		v.pending(p)
	}
	if w.step.P99 > 0 && p.took > w.step.P99 {
		v.tally.Slow++
	}
}

func (w *watched) ended(e *report.Ending) {
	v, p := w.took(e.Timings)
	if v == nil {
		return
	}
	if p.faults && !v.faulted[e.Sequence] {
		v.tally.Faulted++
	}
	delete(v.faulted, e.Sequence)
	if e.Code.Rejected() {
		v.pending(p)
	}
}

func (v *side) pending(p part) {
	if p.late || p.rejected {
		v.tally.Pending++
	}
	if p.late {
		v.tally.Late++
	}
}

// part is what a version did in an attempt: whether it faulted, and whether it rejected the pod, or a node after it was chosen.
type part struct {
	name                   string
	faults, rejected, late bool
	took                   time.Duration
}

// took returns the version that took part; nil if none did. If both did, because pods moved to the canary meanwhile, it is the canary.
func (w *watched) took(timings []report.Timing) (*side, part) {
	for _, x := range []struct {
		name string
		side *side
	}{{w.step.Canary, &w.its}, {w.step.Stable, &w.stable}} {
		out, any := part{name: x.name}, false
		for i := range timings {
			t := &timings[i]
			if t.Plugin != x.name {
				continue
			}
			any = true
			out.faults = out.faults || t.Faults > 0
			out.took += t.Duration
			switch {
			case !t.Code.Rejected():
			case t.Point == abi.PreFilter:
				out.rejected = true
			case t.Point == abi.Filter: // its rejections are by node
			case t.Point == abi.PostFilter: // it makes no room for a pod that others may have rejected
			default:
				out.late = true
			}
		}
		if any {
			return x.side, out
		}
	}
	return nil, part{}
}
