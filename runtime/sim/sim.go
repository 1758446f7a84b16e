// Package sim is a cluster in memory with a scheduler at work on it. Time is
// virtual: it stands still while there is something to do and jumps to the next
// event or deadline, so a run depends on its input and its seed only.
package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// giveUpAfter is the number of tries after which a pod is left pending although
// it is not parked: so often it failed while nothing changed in the cluster.
const giveUpAfter = 10

// Config is what is simulated.
type Config struct {
	Assembly assembly.Config
	Nodes    []*v1.Node
	// Bound is the pods that are on nodes from the start.
	Bound []*v1.Pod
	// Arrivals is the pods to be scheduled, in order of At.
	Arrivals []input.Arrival
	// Attempts is how often each pod is tried before it is given up; 0 means as
	// long as a try can help.
	Attempts int
	// Explain is a pod whose last try is kept in full; the zero value for none.
	Explain types.NamespacedName
	// Progress (optional) is told how many pods have been placed or given up.
	Progress func(done int)
}

// Sim is one simulation.
type Sim struct {
	config   Config
	clock    *clock.Step
	start    time.Time
	assembly *assembly.Assembly
	world    *world
	next     int // the next arrival
}

// New checks the input and makes a simulation; Run runs it once.
func New(config Config) (*Sim, error) {
	// Any fixed time will do: durations count, the date does not.
	start := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	s := &Sim{config: config, start: start, clock: clock.NewStep(start)}
	s.world = newWorld(&s.config, s.clock)
	var err error
	s.assembly, err = assembly.New(config.Assembly, assembly.Deps{
		Clock: s.clock, Binder: s.world, Outlet: s.world, Observer: s.world,
		Spawn: func(run func()) { run() },
	})
	if err != nil {
		return nil, err
	}
	s.world.scheduler = s.assembly.Scheduler
	if err := s.checkProfiles(); err != nil {
		s.assembly.Close()
		return nil, err
	}
	return s, nil
}

// checkProfiles refuses pods that no profile would ever look at: left alone they
// would be missing from the result.
func (s *Sim) checkProfiles() error {
	var errs []error
	for _, a := range s.config.Arrivals {
		known := false
		for _, name := range s.assembly.Profiles {
			known = known || name == a.Pod.Spec.SchedulerName
		}
		if !known && len(errs) < input.MaxErrors {
			errs = append(errs, fmt.Errorf("pod %s/%s: spec.schedulerName: no profile is named %q (profiles are %q; add one to the configuration or change the pod)",
				a.Pod.Namespace, a.Pod.Name, a.Pod.Spec.SchedulerName, s.assembly.Profiles))
		}
	}
	return errors.Join(errs...)
}

// Run simulates until nothing more can happen or the context ends, which is an
// error.
func (s *Sim) Run(ctx context.Context) (*Result, error) {
	defer s.assembly.Close()
	watch := clock.Start()
	scheduler := s.assembly.Scheduler
	for _, node := range s.config.Nodes {
		scheduler.SetNode(state.NewNode(node))
	}
	for _, pod := range s.config.Bound {
		s.world.bindInitial(pod)
	}
	for {
		s.arrive()
		s.world.depart()
		for scheduler.Step(ctx) {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("simulation stopped after %d of %d pods: %w", s.world.done, len(s.config.Arrivals), err)
			}
		}
		at, ok := s.nextEvent()
		if !ok {
			break
		}
		s.clock.Set(at)
	}
	return s.world.result(scheduler, watch.Elapsed()), nil
}

// arrive hands over the pods whose time has come, all at once.
func (s *Sim) arrive() {
	now := s.clock.Now().Sub(s.start)
	var pods []*state.Pod
	for s.next < len(s.config.Arrivals) && s.config.Arrivals[s.next].At <= now {
		a := s.config.Arrivals[s.next]
		pods = append(pods, s.world.admit(a, s.start))
		s.next++
	}
	if len(pods) > 0 {
		s.assembly.Scheduler.SetPods(pods...)
	}
}

// nextEvent returns the next time at which something happens; false when nothing
// more can: what is left is parked, and no event will come.
func (s *Sim) nextEvent() (at time.Time, ok bool) {
	earliest := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if s.next < len(s.config.Arrivals) {
		earliest(s.start.Add(s.config.Arrivals[s.next].At))
	}
	if t, any := s.world.nextDeparture(); any {
		earliest(t)
	}
	p := s.assembly.Scheduler.Pending()
	if ok || p.Queue.Active+p.Queue.Backoff+p.Queue.ErrorBackoff+p.Waiting > 0 {
		if t, any := s.assembly.Scheduler.NextDeadline(); any {
			earliest(t)
		}
	}
	return at, ok
}
