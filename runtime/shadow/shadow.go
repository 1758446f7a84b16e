// Package shadow tries plugins on live pods: it decides again, with a plugin on trial, what the
// scheduler has decided without it, on the same snapshot and with the same random numbers. It
// counts what would have been different, and keeps the last differences. Nothing else follows.
//
// It compares decision by decision. What would follow from another decision, only a replay shows.
package shadow

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// DefaultKeep is how many differences are kept of each trial.
const DefaultKeep = 100

// Config configures trials.
type Config struct {
	// Share is the part of the time that trials may take, above 0; from 1 on there is no limit. A
	// decision for which no time is left, or that takes longer than 250 ms, is missed, and counted.
	Share float64
	// Keep is how many differences are kept of each trial; 0 means DefaultKeep.
	Keep int
	// Cycle is how decisions are made.
	Cycle cycle.Config
}

// Deps are what trials need.
type Deps struct {
	// Panicked (optional) is told of each panic of a trial, which is the failure of that trial alone.
	Panicked func(*plugin.Panic)
}

// Trial is a plugin on trial in a profile.
type Trial struct {
	// Plugin is its name. Replaces is that of the plugin whose place it takes; empty if it runs
	// beside all others.
	Plugin, Replaces string
	// Namespaces are those of the pods that it, or the plugin that it replaces, applies to; none
	// means all.
	Namespaces []string
	// Share is the part of these pods that it applies to.
	Share state.Share
	// Pipeline has the profile's plugins with the one on trial. It shares no plugin with the
	// pipeline that decides.
	Pipeline *pipeline.Pipeline
}

// Shadow runs trials. The zero value is not usable.
type Shadow struct {
	config Config
	deps   Deps
	// any tells the loop, without a lock, whether there are trials.
	any atomic.Bool
	// nominated tells that one of them reads which pods are nominated to nodes.
	nominated atomic.Bool
	mu        struct {
		sync.Mutex
		trials []*trial
	}
}

// trial is a Trial and its result.
type trial struct {
	Trial
	cycle  *cycle.Cycle
	budget budget
	report Report
}

// New returns a Shadow without trials.
func New(config Config, deps Deps) *Shadow {
	if config.Keep == 0 {
		config.Keep = DefaultKeep
	}
	// The verdicts on all nodes include the chosen node.
	config.Cycle.AllRows = true
	return &Shadow{config: config, deps: deps}
}

// Set replaces the trials. One whose pipeline stays keeps its counts. When Set returns, the
// pipelines of the others are no longer used.
func (s *Shadow) Set(all []Trial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next []*trial
	for i := range all {
		at := slices.IndexFunc(s.mu.trials, func(t *trial) bool { return t.Pipeline == all[i].Pipeline })
		if at >= 0 {
			s.mu.trials[at].Trial = all[i]
			next = append(next, s.mu.trials[at])
			continue
		}
		next = append(next, &trial{
			Trial: all[i], cycle: cycle.New(s.config.Cycle), budget: budget{watch: clock.Start()},
			report: Report{Profile: all[i].Pipeline.Profile(), Plugin: all[i].Plugin, Replaces: all[i].Replaces},
		})
	}
	for _, t := range next { // each has an equal part, so that a slow one costs the others nothing
		t.budget.share = s.config.Share
		if s.config.Share < 1 {
			t.budget.share /= float64(len(next))
		}
	}
	s.mu.trials = next
	s.any.Store(len(next) > 0)
	s.nominated.Store(slices.ContainsFunc(next, func(t *trial) bool { return t.Pipeline.ReadsNominated() }))
}

// ReadsNominated reports whether a plugin on trial reads which pods are nominated to nodes.
func (s *Shadow) ReadsNominated() bool { return s.nominated.Load() }

// Tried decides again for each trial that the pod matters to. The loop calls it with what was
// decided, before anything that the decision depends on changes.
func (s *Shadow) Tried(in cycle.Input, d *cycle.Decision) {
	if !s.any.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.mu.trials {
		if t.Pipeline.Profile() != in.Pipeline.Profile() || !t.appliesTo(in.Pod.Pod) || in.Context.Err() != nil {
			continue
		}
		if !t.budget.left() {
			t.report.Missed++
			continue
		}
		watch := clock.Start()
		if err := plugin.Guard(plugin.InShadow, "the trial of plugin "+t.Plugin, s.deps.Panicked, func() {
			t.again(in, d, s.config.Keep, s.config.Share >= 1)
		}); err != nil {
			t.cycle = cycle.New(s.config.Cycle) // it may be half-changed
			t.report.Missed++
		}
		t.budget.spend(watch.Elapsed())
	}
}

func (t *trial) appliesTo(pod *state.Pod) bool {
	return (len(t.Namespaces) == 0 || slices.Contains(t.Namespaces, pod.Namespace)) && t.Share.Has(pod)
}

// again decides with the plugin on trial, and takes down what is different.
func (t *trial) again(in cycle.Input, was *cycle.Decision, keep int, endless bool) {
	in.Pipeline, in.Beside = t.Pipeline, was.Node
	if !endless {
		var cancel context.CancelFunc
		in.Context, cancel = context.WithTimeout(in.Context, longest)
		defer cancel()
	}
	would := t.cycle.Schedule(in)
	t.Pipeline.Settle(in.Pod.Pod)
	if in.Context.Err() != nil { // it was cut off
		t.report.Missed++
		return
	}
	t.report.Attempts++
	kind := compare(was, &would)
	t.report.count(kind)
	if was.Node != nil {
		t.report.WasPlaced++
	}
	if kind == Elsewhere && would.Tied {
		t.report.Tied++
	}
	if kind == Same {
		return
	}
	if len(t.report.Differences) == keep {
		t.report.Differences = slices.Delete(t.report.Differences, 0, 1)
	}
	t.report.Differences = append(t.report.Differences, difference(in.Snapshot, was, &would, kind))
}

// Reports returns the results of the trials so far, sorted as the trials are. It may be called from
// any goroutine.
func (s *Shadow) Reports() []Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Report, 0, len(s.mu.trials))
	for _, t := range s.mu.trials {
		r := t.report
		r.Differences = slices.Clone(r.Differences)
		slices.Reverse(r.Differences)
		out = append(out, r)
	}
	return out
}

// budget is a share of the time that passes.
type budget struct {
	share float64
	watch clock.Stopwatch
	// at is when saved was counted, on the watch.
	at, saved time.Duration
}

// longest is how long one decision may take, if there is a limit at all: a plugin on trial may be
// slow, or hostile.
const longest = 250 * time.Millisecond

// most is how much time can be saved up: about what a hundred decisions take.
const most = 50 * time.Millisecond

// left reports whether there is time for one more decision. The last one may take more than is
// left, which counts against the next ones.
func (b *budget) left() bool {
	if b.share >= 1 {
		return true
	}
	now := b.watch.Elapsed()
	b.saved = min(most, b.saved+time.Duration(b.share*float64(now-b.at)))
	b.at = now
	return b.saved > 0
}

func (b *budget) spend(took time.Duration) { b.saved -= took }
