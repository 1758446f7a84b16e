// Package scheduler is the loop: it owns the queue, the cache and the cycle,
// takes in what happens in the cluster, tries one pod at a time, and carries
// decisions out.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Config is how a scheduler works.
type Config struct {
	// Seed is the source of all randomness: the same events and seed give the
	// same decisions.
	Seed  uint64
	Queue queue.Config
	Cycle cycle.Config
	Cache cache.Config
}

// Deps is what a scheduler works with.
type Deps struct {
	Clock clock.Clock
	// Pipelines is one for each profile. All order the queue alike.
	Pipelines []*pipeline.Pipeline
	// Extenders (optional) are asked in every cycle. The pipelines then have their
	// Binder.
	Extenders *extender.Extenders
	// Outlet is told what the API is to be told.
	Outlet Outlet
	// Evictor (optional) deletes the victims of preemptions; without it that fails.
	Evictor objects.Evictor
	// Observer (optional) is shown every attempt.
	Observer Observer
	// Moved (optional) hears on the loop of every pod that changes its place in the
	// queue.
	Moved func(queue.Transition)
	// Handled (optional) hears on the loop how long it took to take in an event of the
	// cluster and to move the pods that it helps.
	Handled func(event state.ClusterEvent, took time.Duration)
	// Worked (optional) hears on the loop what plugins of a profile did outside of tries:
	// at PreEnqueue, as they sort the queue, and as they hint at pods to try again. The
	// timings are the loop's own.
	Worked func(profile string, timings []report.Timing)
	// Log (optional) takes what an operator should know.
	Log *slog.Logger
	// Spawn runs a binding cycle or an eviction beside the loop; nil starts a
	// goroutine. A simulation may run it at once.
	Spawn func(run func())
}

// Outlet takes what the cluster is to be told of a pod. But for Binding it is called on
// the loop and must not wait for anything.
type Outlet interface {
	// Binding hears of a pod that is about to be bound, beside the loop. It returns when
	// nothing that was said of the pod's failed tries can reach the cluster after the
	// binding; with an error the pod is not bound.
	Binding(ctx context.Context, pod *state.Pod) error
	// Scheduled hears of a binding that was made.
	Scheduled(pod *state.Pod, node string)
	// Failed hears of a try that did not end with a binding.
	Failed(f Failure)
	// Preempted hears of a pod that had to make room for another.
	Preempted(p Preempted)
	// NominationCleared hears of a pod whose status.nominatedNodeName is void.
	NominationCleared(pod *state.Pod)
}

// Failure is a try that did not end with a binding.
type Failure struct {
	Pod *state.Pod
	// Reason is the reason of the PodScheduled condition: Unschedulable or
	// SchedulerError.
	Reason string
	// Message is the message of the condition and of the event.
	Message string
	// Override says that Nominated replaces status.nominatedNodeName.
	Override  bool
	Nominated string
}

// Observer is shown every attempt. The attempt is the loop's own: an observer
// that keeps it keeps a Clone, for which name turns rows into node names.
type Observer interface {
	// Attempted comes at the end of each scheduling cycle.
	Attempted(a *report.Attempt, name func(row uint32) string)
	// Ended comes for each attempt that chose a node and got past Permit or has to
	// wait there, when it is bound or has failed.
	Ended(e *report.Ending)
}

// Scheduler is the loop and all that it owns. Step and Run must not be called
// concurrently; the intake methods may be called from anywhere and take effect
// in the order of the calls, between two tries.
//
//	intake ─▶ inbox ─▶ loop ─┬─ queue.Pop ─▶ cycle.Schedule ─▶ Decision
//	            ▲            │                                    │
//	            │            │   no place: PostFilter's word, AddUnschedulable
//	            │            │   a place:  assume, Reserve, Permit
//	            │            ▼                                    │
//	            └──── result ◀── binding cycle (its own goroutine)◀┘
//
// Lock order: only inbox.mu exists, and nothing is called while it is held.
type Scheduler struct {
	config    Config
	deps      Deps
	profiles  []string // never changes
	pipelines map[string]*pipeline.Pipeline
	retired   []retired // the oldest first
	queue     *queue.Queue
	cache     *cache.Cache
	cycle     *cycle.Cycle
	snapshot  *state.Snapshot

	sequence uint64 // attempts so far
	waiting  []*waiting
	// waitingView is waiting as WaitingPods shows it to any goroutine.
	waitingView atomic.Pointer[[]plugin.WaitingPod]
	binding     map[types.UID]*pipeline.Binding // binding cycles that run
	totals      totals
	scratch     []report.Timing
	points      []report.PointTiming // scratch, too
	// stopped is closed when Run is to end; nil before Run.
	stopped <-chan struct{}
	// retried is the time of a breaker at which the pods of its plugin were released.
	// Profiles have a breaker each.
	retried map[plugin.Breaker]time.Time

	preempting map[types.UID]*preemption // by preemptor
	evicting   int                       // evictions that run

	inbox struct {
		mu    sync.Mutex
		calls []func()
		pods  *[]*state.Pod // those of the last call, if it takes in pods
		wake  chan struct{} // holds a token while calls is not empty
	}
}

// New checks the configuration and returns a scheduler.
func New(config Config, deps Deps) (*Scheduler, error) {
	switch {
	case deps.Clock == nil:
		return nil, errors.New("scheduler: Deps.Clock is required")
	case deps.Outlet == nil:
		return nil, errors.New("scheduler: Deps.Outlet is required")
	case len(deps.Pipelines) == 0:
		return nil, errors.New("scheduler: at least one pipeline is required")
	}
	if deps.Spawn == nil {
		deps.Spawn = func(run func()) { go run() }
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Evictor == nil {
		deps.Evictor = noEvictor{}
	}
	s := &Scheduler{
		config: config, deps: deps,
		pipelines: make(map[string]*pipeline.Pipeline),
		cycle:     cycle.New(config.Cycle),
		cache:     cache.New(config.Cache),
		snapshot:  state.NewSnapshot(),
		binding:   make(map[types.UID]*pipeline.Binding),
		retried:   make(map[plugin.Breaker]time.Time),
		totals:    newTotals(),

		preempting: make(map[types.UID]*preemption),
	}
	s.inbox.wake = make(chan struct{}, 1)
	first := deps.Pipelines[0]
	for _, p := range deps.Pipelines {
		if s.pipelines[p.Profile()] != nil {
			return nil, fmt.Errorf("scheduler: two profiles are named %q", p.Profile())
		}
		if err := sameOrder(first, p); err != nil {
			return nil, err
		}
		s.pipelines[p.Profile()] = p
		s.profiles = append(s.profiles, p.Profile())
	}
	s.deps.Pipelines = slices.Clone(deps.Pipelines)
	var err error
	s.queue, err = queue.New(config.Queue, queue.Deps{
		Clock: deps.Clock, Less: s.less, Key: s.keys, Gate: s.gate, Hint: s.hint, Wants: s.wants, Observe: deps.Moved,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Run takes in events and tries pods until the context ends; then it waits for
// the binding cycles and evictions that still run.
//
// A try that fails after the context has ended is not told of.
func (s *Scheduler) Run(ctx context.Context) error {
	s.stopped = ctx.Done()
	for ctx.Err() == nil {
		if !s.Step(ctx) {
			s.sleep(ctx)
		}
	}
	// What came last may have woken sleep already.
	for s.drain(); len(s.binding)+s.evicting > 0; s.drain() {
		<-s.inbox.wake
	}
	return nil
}

// Standby takes in events without trying pods, until the context ends: a replica
// that does not lead keeps its cache warm so. Run may follow.
func (s *Scheduler) Standby(ctx context.Context) {
	for ctx.Err() == nil {
		if s.drain() {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.inbox.wake:
		}
	}
}

// Step takes in what has happened and tries the next pod. It reports whether
// there was one.
func (s *Scheduler) Step(ctx context.Context) bool {
	s.drain()
	s.expire()
	s.retryPlugins()
	if len(s.retired) > 0 {
		s.drainRetired()
	}
	s.queue.Tick()
	pod, ok := s.queue.Pop()
	if !ok {
		return s.drain()
	}
	s.try(ctx, pod)
	return true
}

// NextDeadline returns the earliest time at which Step would have something to
// do although nothing happens in the cluster.
func (s *Scheduler) NextDeadline() (time.Time, bool) {
	at, ok := s.queue.NextDeadline()
	for _, w := range s.waiting {
		if t := w.first().deadline; !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, t := range s.retries() {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// sleep waits for something to happen or for the next deadline.
func (s *Scheduler) sleep(ctx context.Context) {
	var reached <-chan struct{}
	if at, ok := s.NextDeadline(); ok {
		var stop func()
		reached, stop = s.deps.Clock.Until(at)
		defer stop()
	}
	select {
	case <-ctx.Done():
	case <-reached:
	case <-s.inbox.wake:
	}
}

// seed returns the random number of the current attempt: a splitmix64 step away
// from those of its neighbours.
func (s *Scheduler) seed() uint64 {
	x := s.config.Seed + s.sequence*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
