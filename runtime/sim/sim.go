// Package sim is a cluster in memory with a scheduler. Time is virtual: it stands still while
// there is something to do and jumps to the next event or deadline, so a run depends only on
// its input and its seed.
package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// restAfter is the number of failed attempts without a change in the cluster after which a pod
// that is not parked by the queue is set aside until something changes. Without this, a pod
// that fails with an error would be tried forever.
const restAfter = 10

// longestPause is how long a plugin that keeps failing is not called at most (breaker.Config).
const longestPause = 5 * time.Minute

// Config is the input of a simulation.
type Config struct {
	Assembly assembly.Config
	// Namespaces are the namespaces with known labels. A pod's namespace may be missing: it then
	// has no labels.
	Namespaces []*v1.Namespace
	Nodes      []*v1.Node
	// Storage are the storage objects and those of dynamic resource allocation: claims, volumes, classes, CSINodes, CSIDrivers,
	// capacities and attachments. See volumes for how they change.
	Storage []metav1.Object
	// Owners are services and the controllers of pods, for default spread constraints. They do
	// not change during a simulation.
	Owners []metav1.Object
	// Bound are the pods that are on nodes from the start.
	Bound []*state.Pod
	// Debts are what is owed for preemptions at the start.
	Debts []*inbox.Debt
	// Feeds are what feeds say from the start.
	Feeds []state.Feed
	// Start is when the simulation starts; the zero value means any time.
	Start time.Time
	// Changes are what else happens to the cluster, in order of At. They cannot be recorded.
	Changes []Change
	// Arrivals are the pods to be scheduled, in order of At.
	Arrivals []input.Arrival
	// PodDisruptionBudgets are respected by preemption. Their status is computed from the pods
	// on the nodes.
	PodDisruptionBudgets []*policyv1.PodDisruptionBudget
	// Attempts is how often each pod is tried before it is given up; 0 means as long as an
	// attempt can succeed.
	Attempts int
	// Flush retries parked pods after the last event, as the queue would after MaxUnschedulable, and again whenever
	// that placed a pod. Before that it waits for the decay of a debt.
	Flush bool
	// NoEvictions lets preemptions be decided, and no pod be evicted.
	NoEvictions bool
	// Recorder (optional) receives all that enters the scheduler's loop.
	Recorder inbox.Recorder
	// Log (optional) receives messages of plugins and the scheduler.
	Log *slog.Logger
	// Panicked (optional) is told of each panic that was the failure of one pod or object. Another one ends Run.
	Panicked func(*plugin.Panic)
	// Explain is a pod whose last attempt is kept in full; the zero value for none.
	Explain types.NamespacedName
	// Where (optional) returns where a pod is in the input, for errors.
	Where func(pod *v1.Pod) string
	// Progress (optional) is called with the number of pods that have been answered: they were
	// placed, failed an attempt, or left.
	Progress func(answered int)
	// Answered (optional) is called once per pod, with its first answer: the pod with what
	// plugins wrote on it, and its node or "".
	Answered func(pod *state.Pod, node string)
	// Attempted (optional) is called with each attempt, which is reused afterwards.
	Attempted func(a *report.Attempt, name func(row uint32) string)
	// Watch (optional) is called after each turn of the scheduler, and before time passes until the next
	// event; at the end until is the longest duration. answered is as for Progress.
	Watch func(s *scheduler.Scheduler, now, until time.Duration, answered int)
}

// DefaultStart is when a simulation starts whose input says no time.
func DefaultStart() time.Time { return time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Sim is one simulation.
type Sim struct {
	config   Config
	clock    *clock.Step
	assembly *assembly.Assembly
	api      *apiServer
	next     int                        // index of the next arrival
	changed  int                        // index of the next change
	flushed  int                        // number of placements before the last flush; -1 before the first
	decayed  bool                       // it has waited for the decay of a debt
	turns    struct{ placed, left int } // see hasTurn
	retries  struct {                   // see mayRetry
		changes int
		left    int
		until   time.Time
	}
	handling string // object, for the error of a panic
	refused  map[string]error
}

// New checks the input and makes a simulation, which can be run once.
//
// # Errors
//
// A *plugin.Panic, if something panicked.
func New(config Config) (s *Sim, err error) {
	if caught := plugin.Guard(plugin.InConversion, "the input of a simulation", nil, func() { s, err = newSim(config) }); caught != nil {
		return nil, caught
	}
	return s, err
}

func newSim(config Config) (*Sim, error) {
	if err := checkArrivals(&config); err != nil {
		return nil, err
	}
	// An extender that binds would bind a pod of a real cluster.
	config.Assembly.IgnoreBindVerbs = true
	if len(config.Changes) > 0 && config.Recorder != nil {
		return nil, errors.New("a simulation with changes cannot be recorded")
	}
	if config.Start.IsZero() { // any fixed time will do: only durations matter
		config.Start = DefaultStart()
	}
	s := &Sim{config: config, clock: clock.NewStep(config.Start), flushed: -1, refused: make(map[string]error)}
	s.turns.placed = -1
	s.api = newAPIServer(&s.config, s.clock)
	owners := s.api.owners
	if (config.Explain != types.NamespacedName{}) {
		config.Assembly.AllRows = true
	}
	config.Assembly.TrialShare = 1 // nobody waits
	var err error
	s.assembly, err = assembly.New(config.Assembly, assembly.Deps{
		Clock: s.clock, Binder: s.api, Evictor: s.api, Budgets: s.api, Objects: s.api, Storage: s.api.volumes.plugins(), Devices: s.api.volumes.devices(), Services: owners, Controllers: owners,
		Outlet: s.api, Observer: s.api, Recorder: config.Recorder,
		Spawn: func(run func()) { run() }, Log: config.Log, Panicked: config.Panicked,
	})
	if err != nil {
		return nil, err
	}
	err = checkProfiles(&config, s.assembly.Profiles)
	if err == nil {
		err = s.api.volumes.setUp(config.Storage)
	}
	if err != nil {
		s.assembly.Close()
		return nil, err
	}
	s.refuse()
	s.api.scheduler, s.api.volumes.tell = s.assembly.Scheduler, s.assembly.Scheduler
	for _, object := range config.Owners {
		owners.Set(object)
		s.api.stored(object)
	}
	return s, nil
}

// Refusals says by name why attached plugins do not run; after Run, those that did not run at some time.
func (s *Sim) Refusals() map[string]error { return s.refused }

func (s *Sim) refuse() { maps.Copy(s.refused, s.assembly.Refusals()) }

// Status says how plugins are; after Run, how they were at its end.
func (s *Sim) Status() assembly.Status { return s.assembly.Status() }

// Run simulates until nothing more can happen. If the context ends first, or something panics, it returns the result
// so far with the error, which names the object that was handled.
func (s *Sim) Run(ctx context.Context) (result *Result, err error) {
	defer s.assembly.Close()
	watch := clock.Start()
	guard := func(call func()) {
		defer func() {
			if r := recover(); r != nil {
				err = plugin.Stopped(plugin.InConversion, s.handling, r)
			}
		}()
		call()
	}
	guard(func() {
		s.begin(ctx)
		err = s.run(ctx)
	})
	result = &Result{Placements: []Placement{}, Unschedulable: []Pending{}, Evicted: []Eviction{}}
	guard(func() { result = s.result(watch.Elapsed(), err != nil) })
	return result, err
}

// begin takes in what there is from the start.
func (s *Sim) begin(ctx context.Context) {
	for _, debt := range s.config.Debts {
		s.assembly.Scheduler.Handle(ctx, debt)
	}
	for _, namespace := range s.config.Namespaces {
		s.handling = "namespace " + namespace.Name
		s.assembly.Scheduler.SetNamespace(state.NewNamespace(namespace))
	}
	for _, node := range s.config.Nodes {
		s.handling = "node " + node.Name
		s.assembly.Scheduler.SetNode(state.NewNode(node))
	}
	if len(s.config.Feeds) > 0 {
		s.assembly.Scheduler.SetFeeds(s.config.Feeds)
	}
	for _, pod := range s.config.Bound {
		s.handling = "pod " + pod.Key()
		s.api.bindInitial(pod)
	}
}

// run goes from event to event.
func (s *Sim) run(ctx context.Context) error {
	for {
		s.handling = "a change of the cluster"
		if err := s.happen(ctx); err != nil {
			return err
		}
		s.arrive()
		s.handling = "the simulated cluster"
		s.api.depart()
		for more := true; more; more = s.api.wake() {
			for s.assembly.Scheduler.Step(ctx) {
				if err := s.stopped(ctx); err != nil {
					return err
				}
				s.watched(s.api.now())
			}
			if err := s.assembly.Scheduler.Broken(); err != nil {
				return err
			}
		}
		at, ok := s.nextEvent()
		if !ok {
			at, ok = s.decay()
		}
		if !ok {
			at, ok = s.flush()
		}
		if ok {
			s.watched(at.Sub(s.api.start))
		} else {
			s.watched(math.MaxInt64)
		}
		if !ok {
			return nil
		}
		s.clock.Set(at)
		if err := s.stopped(ctx); err != nil {
			return err
		}
	}
}

func (s *Sim) watched(until time.Duration) {
	if s.config.Watch != nil {
		s.config.Watch(s.assembly.Scheduler, s.api.now(), until, s.api.answered)
	}
}

func (s *Sim) stopped(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("simulation stopped after %d of %d pods: %w", s.api.answered, len(s.config.Arrivals), err)
	}
	return nil
}

// arrive adds the pods whose time has come, all at once.
func (s *Sim) arrive() {
	now := s.api.now()
	var pods []*state.Pod
	for s.next < len(s.config.Arrivals) && s.config.Arrivals[s.next].At <= now {
		s.handling = "pod " + s.config.Arrivals[s.next].Pod.Namespace + "/" + s.config.Arrivals[s.next].Pod.Name
		pods = append(pods, s.api.admit(s.config.Arrivals[s.next]))
		s.next++
	}
	if len(pods) > 0 {
		s.assembly.Scheduler.SetPods(pods...)
	}
}

// nextEvent returns the time of the next event; false if there is none.
//
// Parked pods alone are not an event. The queue would retry them every five minutes, but the
// cluster is as it was when they were rejected. They are retried with a helpful event, with any
// event more than five minutes later, or by decay and flush.
func (s *Sim) nextEvent() (at time.Time, ok bool) {
	earliest := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if s.next < len(s.config.Arrivals) {
		earliest(s.api.start.Add(s.config.Arrivals[s.next].At))
	}
	if s.changed < len(s.config.Changes) {
		earliest(s.api.start.Add(s.config.Changes[s.changed].At))
	}
	if t, any := s.api.nextDeparture(); any {
		earliest(t)
	}
	p := s.assembly.Scheduler.Pending()
	if p.Queue.Active+p.Queue.Backoff+p.Queue.ErrorBackoff+p.Waiting > 0 || p.Queue.Gated > 0 && s.stalled() {
		if t, any := s.assembly.Scheduler.NextDeadline(); any {
			earliest(t)
		}
	}
	if t, waits := s.assembly.Scheduler.NextTurn(); waits && (ok || s.hasTurn()) {
		earliest(t)
	}
	if t, any := s.assembly.Scheduler.NextRetry(); any && s.mayRetry(t, ok) {
		earliest(t)
	}
	return at, ok
}

// mayRetry reports whether the simulation looks, at the time that a plugin has asked for, whether a pod can be placed: a thousand times while
// the cluster does not change, or a guest that asks for it at each attempt would have it last for ever. After the last event it does so
// for the longest time that a plugin can ask for.
func (s *Sim) mayRetry(at time.Time, before bool) bool {
	r := &s.retries
	if r.changes != s.api.changes || r.until.IsZero() {
		r.changes, r.left, r.until = s.api.changes, mostRetries, s.clock.Now().Add(abi.MaxRetryAfter*time.Millisecond)
	}
	r.left--
	return r.left >= 0 && (before || s.config.Flush && !at.After(r.until))
}

// decay returns when a debt decays that keeps parked pods from preempting others, after the last event; false if there is none.
// It waits for one only: a guest that lets no pod be bound would have a simulation last as long as there are victims.
func (s *Sim) decay() (at time.Time, ok bool) {
	if !s.config.Flush || s.decayed || s.assembly.Scheduler.Pending().Queue.Unschedulable == 0 {
		return time.Time{}, false
	}
	at, s.decayed = s.assembly.Scheduler.NextDebt()
	return at, s.decayed
}

// flush returns when the queue has released all pods that are parked after the last event; false if there are none, or if
// nothing was placed since the last flush.
func (s *Sim) flush() (at time.Time, ok bool) {
	if !s.config.Flush || s.flushed == s.api.placed || s.assembly.Scheduler.Pending().Queue.Unschedulable == 0 {
		return time.Time{}, false
	}
	s.flushed = s.api.placed
	limits := queue.DefaultConfig()
	return s.clock.Now().Add(cmp.Or(s.config.Assembly.MaxUnschedulable, limits.MaxUnschedulable) + limits.LeftoverInterval), true
}

// hasTurn reports whether the simulation goes on, after the last event, for a pod that waits for its turn because a plugin caused
// too many attempts. It does so as often as pods were gated when one was placed last: a guest that wakes all of its pods at each
// attempt would have it last for ever.
func (s *Sim) hasTurn() bool {
	if s.turns.placed != s.api.placed {
		s.turns.placed, s.turns.left = s.api.placed, s.assembly.Scheduler.Pending().Queue.Gated
	}
	s.turns.left--
	return s.turns.left >= 0
}

// stalled reports whether pods wait for a plugin that is called again soon. One whose pause has become the longest has failed
// at each try, and its pods are like parked ones.
func (s *Sim) stalled() bool {
	until, ok := s.assembly.Scheduler.Stalled()
	return ok && until.Sub(s.clock.Now()) < longestPause
}
