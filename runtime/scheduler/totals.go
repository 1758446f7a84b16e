package scheduler

import (
	"cmp"
	"iter"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Totals is what a scheduler has done since it was made.
type Totals struct {
	Attempts uint64
	// Reconciled counts confirmations that differed from the assumed pod.
	Reconciled uint64
	// Plugins has the work of each plugin at each point, by profile, sorted by name and point.
	Plugins []PluginTotal
}

// Pending counts pods by where they are in the scheduler.
type Pending struct {
	Queue queue.Counts
	// Waiting and Binding count pods at Permit and in binding cycles.
	Waiting, Binding int
	// Preempting counts pods whose victims are being evicted.
	Preempting int
}

// Pending counts pods by where they are. Like Totals and Queued it must only be called in Do,
// or while neither Run nor Step runs.
func (s *Scheduler) Pending() Pending {
	return Pending{Queue: s.queue.Pending(), Waiting: len(s.waiting), Binding: len(s.binding), Preempting: len(s.preempting)}
}

// CacheCounts returns how much the cache contains. It must be called like Pending.
func (s *Scheduler) CacheCounts() cache.Counts { return s.cache.Counts() }

// Kept returns what is kept of the answers of plugins. It must be called like Pending.
func (s *Scheduler) Kept() equivalence.Stats { return s.cycle.Kept() }

// Queued yields the pods of the queue, place by place.
func (s *Scheduler) Queued() iter.Seq2[queue.Place, *state.QueuedPod] { return s.queue.All() }

// InFlight returns how many events are kept, by name, and for how many pods that are being
// tried.
func (s *Scheduler) InFlight() (events map[string]int, pods int) { return s.queue.InFlight() }

// PluginTotal is the work of one plugin of one profile at one point.
type PluginTotal struct {
	Profile string
	report.Timing
}

type totals struct {
	attempts   uint64
	reconciled uint64
	plugins    map[totalKey]*report.Timing
}

type totalKey struct {
	profile, plugin, digest string
	point                   abi.Point
}

func newTotals() totals { return totals{plugins: make(map[totalKey]*report.Timing)} }

func (t *totals) attempt(profile string, a *report.Attempt) {
	t.attempts++
	t.add(profile, a.Timings)
}

func (t *totals) add(profile string, timings []report.Timing) {
	for _, timing := range timings {
		key := totalKey{profile: profile, plugin: timing.Plugin, digest: timing.Digest, point: timing.Point}
		sum, ok := t.plugins[key]
		if !ok {
			sum = &report.Timing{Plugin: timing.Plugin, Digest: timing.Digest, Point: timing.Point}
			t.plugins[key] = sum
		}
		sum.Add(timing)
	}
}

// tellWork reports the work of plugins outside of attempts since the last call.
func (s *Scheduler) tellWork() {
	for _, p := range s.deps.Pipelines {
		if s.scratch = p.Timings(s.scratch[:0]); len(s.scratch) == 0 {
			continue
		}
		s.totals.add(p.Profile(), s.scratch)
		if s.deps.Worked != nil {
			s.safely(plugin.InWrite, "the report of a profile", func() { s.deps.Worked(p.Profile(), s.scratch) })
		}
	}
}

// Totals returns what has been done so far. It must not be called while Run or Step runs.
func (s *Scheduler) Totals() Totals {
	s.tellWork()
	out := Totals{Attempts: s.totals.attempts, Reconciled: s.totals.reconciled}
	for key, sum := range s.totals.plugins {
		out.Plugins = append(out.Plugins, PluginTotal{Profile: key.profile, Timing: *sum})
	}
	slices.SortFunc(out.Plugins, func(a, b PluginTotal) int {
		return cmp.Or(cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Point, b.Point), cmp.Compare(a.Digest, b.Digest))
	})
	return out
}
