// Package scheduler is the loop: it owns the queue, the cache and the cycle, handles cluster
// events, tries one pod at a time, and carries decisions out.
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

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/budgets"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/debts"
	"github.com/berth-scheduler/berth/runtime/internal/workers"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Config configures a scheduler.
type Config struct {
	// Seed is the source of all randomness: the same events and seed give the same decisions.
	Seed uint64
	// Draw (optional) numbers the attempts for the random numbers of their decisions, instead of their
	// sequence: an experiment gives an attempt the number that it had in a recording.
	Draw  func(pod types.UID) uint64
	Queue queue.Config
	Cycle cycle.Config
	Cache cache.Config
	// OneHash makes the hash of a decision cover its texts, as in recordings of formats up to 6.
	OneHash bool
	// NoNamespaceBudget bounds the attempts that a plugin causes, but not those that all plugins of a namespace cause together,
	// as in recordings of formats up to 7.
	NoNamespaceBudget bool
	// OneLane has all pods wait in one lane of the queue, and attached plugins asked about all events that came while pods waited, as in
	// recordings of formats up to 8.
	OneLane bool
	// MaxUnsent is how many binding cycles may wait only for their binding to be sent before another pod is tried; 0 means no limit.
	// Pods that Permit plugins let go together may exceed it.
	MaxUnsent int
}

// Deps are the dependencies of a scheduler.
type Deps struct {
	// Clock is read by the scheduler; others only see the time that it holds.
	Clock *clock.Held
	// Recorder (optional) receives all that enters the loop, and all decisions.
	Recorder inbox.Recorder
	// Objects keeps what plugins read besides pods, nodes and namespaces. It may be nil if
	// SetObject and DeleteObject are never called.
	Objects Objects
	// Pipelines has one for each profile. All must order the queue in the same way.
	Pipelines []*pipeline.Pipeline
	// Extenders (optional) are called in every cycle. The pipelines must then include their
	// Binder.
	Extenders *extender.Extenders
	// Outlet receives what is to be written to the API.
	Outlet Outlet
	// Evictor (optional) deletes the victims of preemptions; without it preemptions fail.
	Evictor objects.Evictor
	// Observer (optional) receives every attempt.
	Observer Observer
	// Tried (optional) is called on the loop with each decision and what it depended on, before
	// any of that changes; for a pod that is placed, and holds nothing but its place, once it is
	// being bound.
	Tried func(in cycle.Input, d *cycle.Decision)
	// TriesNominated (optional) reports whether what Tried asks reads which pods are nominated to nodes.
	TriesNominated func() bool
	// Moved (optional) is called on the loop for every pod that changes its place in the queue.
	Moved func(queue.Transition)
	// Gated (optional) is called on the loop for each pod whose gates were asked, with the plugin that holds it back and why; by is
	// empty for a pod that is let in, or that waits for its own preemption.
	Gated func(pod *state.Pod, by, reason string)
	// Handled (optional) is called on the loop with the time that it took to handle a cluster
	// event and to move the pods that it helps.
	Handled func(event state.ClusterEvent, took time.Duration)
	// Worked (optional) is called on the loop with the work of a profile's plugins outside of
	// attempts: at PreEnqueue, for sorting the queue, and for queueing hints. The loop reuses
	// the timings.
	Worked func(profile string, timings []report.Timing)
	// Panicked (optional) is told of each panic that was stopped, by any goroutine.
	Panicked func(*plugin.Panic)
	// Suspects (optional) are those of the scheduler before this one in the process.
	Suspects *Suspects
	// Fault (optional) is for tests: it may panic where a panic must be stopped. at is attempt, binding, eviction, cache or
	// queue, and what the pod or node.
	Fault func(at, what string)
	// Log (optional) receives what an operator should know.
	Log *slog.Logger
	// Spawn runs a binding cycle or an eviction beside the loop; nil runs it in another goroutine. A
	// simulation may run it synchronously.
	Spawn func(run func())
}

// Objects keeps objects of other kinds for plugins.
type Objects interface {
	// Change stores an object, or removes the one of its name. It is called on the loop. It returns
	// the resulting event, if there is one.
	Change(object metav1.Object, gone bool) (event state.ClusterEvent, changed state.Object, ok bool)
	// All returns all objects. It is called on the loop.
	All() []metav1.Object
	// Written stores what the API server answered to a request about a resource claim, unless it has a
	// newer version of the claim, or none. The rest is as for Change.
	Written(claim *resourcev1.ResourceClaim) (event state.ClusterEvent, changed state.Object, ok bool)
}

// Outlet receives what is to be written to the cluster about pods. All methods except Binding
// are called on the loop and must not block.
type Outlet interface {
	// Binding is called beside the loop before a pod is bound. It returns once no status of the
	// pod's failed attempts can reach the cluster after the binding. If it returns an error, the
	// pod is not bound.
	Binding(ctx context.Context, pod *state.Pod) error
	// Scheduled reports a successful binding. left are features of the pod that no plugin
	// enforces and that its profile leaves to others.
	Scheduled(pod *state.Pod, node string, left state.Feature)
	// Failed reports an attempt that did not end with a binding.
	Failed(f Failure)
	// Preempted reports a pod that had to make room for another.
	Preempted(p Preempted)
	// NominationCleared reports a pod whose status.nominatedNodeName is no longer valid.
	NominationCleared(pod *state.Pod)
}

// Failure is an attempt that did not end with a binding.
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
	// RetryAfter is how soon a plugin has the pod tried again, whatever events come; 0 leaves it to events.
	RetryAfter time.Duration
}

// Observer receives every attempt. The loop reuses the attempt: an observer that keeps it must
// Clone it with name, which returns node names of rows.
type Observer interface {
	// Attempted is called at the end of each scheduling cycle.
	Attempted(a *report.Attempt, name func(row uint32) string)
	// Ended is called for each attempt that chose a node and passed Permit or has to wait there,
	// once the pod is bound or has failed.
	Ended(e *report.Ending)
}

// Scheduler is the loop and everything that it owns. Step and Run must not be called
// concurrently. The intake methods may be called from any goroutine and take effect in the
// order of the calls, between two attempts.
//
//	intake ─▶ inbox ─▶ loop ─┬─ queue.Pop ─▶ cycle.Schedule ─▶ Decision
//	            ▲            │                                    │
//	            │            │   no node: PostFilter, AddUnschedulable
//	            │            │   a node:  assume, Reserve, Permit
//	            │            ▼                                    │
//	            └──── result ◀── binding cycle (its own goroutine)◀┘
//
// Lock order: inbox.mu is the only lock, and nothing is called while it is held.
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

	sequence uint64 // number of attempts so far
	drawn    uint64 // see Config.Draw; of the current attempt
	waiting  []*waiting
	// waitingView is a copy of waiting for WaitingPods, for any goroutine.
	waitingView atomic.Pointer[[]plugin.WaitingPod]
	binding     map[uint64]running // binding cycles, by attempt
	unsent      unsent
	totals      totals
	beside      *workers.Workers // run binding cycles and evictions, unless Deps.Spawn does
	scratch     []report.Timing
	points      []report.PointTiming // scratch, too
	// stopped is closed when Run is to end; nil before Run.
	stopped <-chan struct{}
	// ended is closed when nothing that enters is handled any more: the loop is broken, or Run has ended.
	ended chan struct{}
	// retried is the time of a breaker for which the pods of its plugin in a namespace were released. Each
	// profile has a breaker of its own.
	retried map[lane]time.Time
	// probing is the breaker for which the next stalled pod that it covers is let through; nil otherwise.
	probing struct {
		breaker plugin.Breaker
		covers  func(*state.Pod) bool
	}

	preempting map[types.UID]*preemption // by preemptor
	evicting   map[uint64]evicting       // running evictions, by number
	evictions  uint64                    // begun so far
	debts      *debts.Book
	budgets    *budgets.Book
	// causes are the pods of the current event that plugins have retried.
	causes map[types.UID]cause
	// hinted is by namespace when its attached plugins may be asked about maxHints events again.
	hinted map[string]time.Time
	// cost is what the last attempt costs its lane of the queue; nil for nothing.
	cost *inbox.Turn
	// rechecked are the pods of the current event whose nominations may end.
	rechecked []types.UID

	// broken is why the loop has ended by a panic; nil if it has not. subject is the object that is being handled.
	broken  error
	subject metav1.Object
	// renew tells that the snapshot is made anew before the next attempt.
	renew bool

	// heldUntil is when pods are tried again, if none are now; see segment. heldAgain is when that may
	// happen next.
	heldUntil, heldAgain time.Time

	inbox struct {
		mu       sync.Mutex
		events   []inbox.Event
		prepared []prepared    // by Swap, in order
		wake     chan struct{} // has a token while events is not empty
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
	beside := &workers.Workers{}
	if deps.Spawn == nil {
		deps.Spawn = beside.Go
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
		snapshot:  state.NewSnapshot(),
		binding:   make(map[uint64]running),
		evicting:  make(map[uint64]evicting),
		retried:   make(map[lane]time.Time),
		totals:    newTotals(),
		ended:     make(chan struct{}),
		beside:    beside,

		preempting: make(map[types.UID]*preemption),
		debts:      debts.New(),
		budgets:    budgets.New(),
		causes:     make(map[types.UID]cause),
		hinted:     make(map[string]time.Time),
	}
	s.inbox.wake = make(chan struct{}, 1)
	s.unsent.most, s.unsent.wake = int64(config.MaxUnsent), s.wake
	s.cache = cache.New(s.ranked(config.Cache))
	s.deps.Outlet = guardedOutlet{deps.Outlet, s}
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
		Clock: deps.Clock, Less: s.less, Lane: s.lane, Key: s.keys, Gate: s.gate, Hint: s.hint, Enough: s.enoughHints, Wants: s.wants,
		Helps: s.helps, Observe: s.moved(), Retries: s.mayRetry,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Run handles events and tries pods until the context ends; then it waits for the running
// binding cycles and evictions.
//
// An attempt that fails after the context has ended is not reported.
//
// # Errors
//
// ErrBroken.
func (s *Scheduler) Run(ctx context.Context) error {
	s.stopped = ctx.Done()
	defer s.endQuestions()
	for ctx.Err() == nil && s.broken == nil {
		if !s.Step(ctx) && s.broken == nil {
			s.sleep(ctx)
		}
	}
	// The last wake-up may already have been consumed by sleep.
	for s.drain(ctx); len(s.binding)+len(s.evicting) > 0; s.drain(ctx) {
		<-s.inbox.wake
	}
	s.beside.Close()
	return s.broken
}

// Standby handles events without trying pods, until the context ends: a replica that is not the
// leader keeps its cache warm this way. Run may follow.
//
// # Errors
//
// ErrBroken.
func (s *Scheduler) Standby(ctx context.Context) error {
	for ctx.Err() == nil && s.broken == nil {
		if s.drain(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.inbox.wake:
		}
	}
	return s.broken
}

// Step handles pending events and tries the next pod. It reports whether there was one.
func (s *Scheduler) Step(ctx context.Context) bool {
	s.drain(ctx)
	if s.segment() || s.unsent.full() {
		return false
	}
	s.readClock(ctx)
	tried := s.Handle(ctx, &inbox.Step{})
	s.chargeTurn(ctx)
	s.chargeStarts(ctx)
	return (tried || s.drain(ctx)) && s.broken == nil
}

// NextDeadline returns the earliest time at which Step would have something to do if nothing
// happens in the cluster.
func (s *Scheduler) NextDeadline() (time.Time, bool) {
	if !s.heldUntil.IsZero() {
		return s.heldUntil, true
	}
	if s.unsent.full() {
		return time.Time{}, false
	}
	at, ok := s.queue.NextDeadline()
	for _, w := range s.waiting {
		if t := w.first().deadline; !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, r := range s.retries() {
		if !ok || r.at.Before(at) {
			at, ok = r.at, true
		}
	}
	if end, ends := s.nextNominationEnd(); ends && (!ok || end.Before(at)) {
		at, ok = end, true
	}
	if t, owed := s.debts.Next(); owed && (!ok || t.Before(at)) {
		at, ok = t, true
	}
	if t, waits := s.NextTurn(); waits && (!ok || t.Before(at)) {
		at, ok = t, true
	}
	return at, ok
}

// sleep waits for an event or for the next deadline.
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

// ranked and moved are the callbacks of cache and queue.
func (s *Scheduler) ranked(c cache.Config) cache.Config {
	if rank := c.Rank; s.deps.Fault != nil {
		c.Rank = func(node string) uint64 {
			s.fault("cache", node)
			if rank == nil {
				return 0
			}
			return rank(node)
		}
	}
	return c
}

func (s *Scheduler) moved() func(queue.Transition) {
	if s.deps.Moved == nil && s.deps.Fault == nil {
		return nil
	}
	return func(t queue.Transition) {
		s.fault("queue", t.Pod.Pod.Key())
		if s.deps.Moved != nil {
			s.safely(plugin.InWrite, "the report of pod "+t.Pod.Pod.Key(), func() { s.deps.Moved(t) })
		}
	}
}

// seed returns the random number of the current attempt, one splitmix64 step away from those of
// its neighbours.
func (s *Scheduler) seed() uint64 {
	x := s.config.Seed + s.drawn*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
