package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// world is a scheduler with fake plugins, a binder that can be held, and an API server that
// only has pods.
type world struct {
	t         testing.TB
	log       *scenario.Log
	clock     *clock.Step
	start     time.Time
	scheduler *scheduler.Scheduler // nil until it is needed
	swaps     int
	workers   int
	seed      uint64

	profiles []*pipeline.Config
	plugins  map[string]*fake.Plugin
	natives  hostplugins.Deps // of compiled-in plugins

	pods     map[types.UID]*state.Pod // as the API server has them
	held     bool                     // bindings wait for release
	spawned  []func()
	deaf     bool               // the watch does not confirm bindings
	writes   bool               // nominations are written to the status of pods
	lingers  bool               // evicted pods stay until they are gone
	refused  map[types.UID]bool // pods whose next eviction fails
	budgets  []*policyv1.PodDisruptionBudget
	spawn    func(run func())
	outlet   scheduler.Outlet
	observer scheduler.Observer
	handled  func(state.ClusterEvent, time.Duration)
	gated    func(pod *state.Pod, by, reason string)
	evictor  objects.Evictor
	objects  scheduler.Objects
	recorder inbox.Recorder
	tie      cycle.TieBreak
	asked    *extender.Extenders
	// noNamespaceBudget is as in scheduler.Config.
	noNamespaceBudget bool
	// maxUnsent is as in scheduler.Config.
	maxUnsent int
}

func newWorld(t testing.TB, log *scenario.Log) *world {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &world{
		t: t, log: log, clock: clock.NewStep(start), start: start, workers: 1, seed: 1,
		plugins: map[string]*fake.Plugin{}, pods: map[types.UID]*state.Pod{}, refused: map[types.UID]bool{},
	}
	w.spawn = func(run func()) {
		if w.held {
			w.spawned = append(w.spawned, run)
			return
		}
		run()
	}
	w.outlet, w.observer, w.evictor, w.tie = w, w, w, cycle.First
	w.natives.Budgets, w.natives.ResizePreemption = w, true
	if err := w.profile("default", scenario.Args{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// profile begins a profile; the plugins declared next belong to it.
func (w *world) profile(name string, a scenario.Args) error {
	allowed, err := fake.Allowed(a)
	if err != nil {
		return err
	}
	c := &pipeline.Config{Profile: name, Points: map[abi.Point][]pipeline.Entry{}, AllowUnenforced: allowed}
	if len(w.profiles) > 0 && w.profiles[len(w.profiles)-1].Profile == name {
		w.profiles = w.profiles[:len(w.profiles)-1]
	}
	w.profiles = append(w.profiles, c)
	w.declare("Sort", scenario.MustParse("sort="))
	return nil
}

func (w *world) declare(name string, a scenario.Args) {
	w.t.Helper()
	p, err := fake.Declare(name, a, fake.Deps{Log: w.log, Bind: w.bind})
	if err != nil {
		w.t.Fatal(err)
	}
	w.plugins[name] = fake.Of(p)
	c := w.profiles[len(w.profiles)-1]
	for _, point := range fake.Of(p).Points {
		c.Points[point] = append(c.Points[point], pipeline.Entry{Plugin: p, Weight: fake.Of(p).Weight})
	}
}

// native adds a compiled-in plugin at all of its points.
func (w *world) native(name string) error {
	p, err := hostplugins.All(w.natives).New(name, nil)
	if err != nil {
		return err
	}
	w.writes = true
	c := w.profiles[len(w.profiles)-1]
	for _, point := range plugin.Points(p) {
		c.Points[point] = append(c.Points[point], pipeline.Entry{Plugin: p})
	}
	return nil
}

// get returns the scheduler; the first call makes it.
func (w *world) get() *scheduler.Scheduler {
	w.t.Helper()
	if w.scheduler != nil {
		return w.scheduler
	}
	deps := scheduler.Deps{
		Clock: clock.NewHeld(w.clock), Recorder: w.recorder, Objects: w.objects, Outlet: w.outlet, Evictor: w.evictor, Observer: w.observer,
		Gated: w.gated, Handled: w.handled, Spawn: w.spawn, Pipelines: w.pipelines(),
		Extenders: w.asked,
	}
	var err error
	w.scheduler, err = scheduler.New(scheduler.Config{
		Seed: w.seed, Queue: queue.DefaultConfig(), Cycle: cycle.Config{TieBreak: w.tie}, NoNamespaceBudget: w.noNamespaceBudget,
		MaxUnsent: w.maxUnsent,
	}, deps)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.scheduler
}

// pipelines makes the pipelines of the profiles.
func (w *world) pipelines() (out []*pipeline.Pipeline) {
	workers, err := pipeline.NewWorkers(w.workers)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(workers.Close)
	for _, c := range w.profiles {
		if len(c.Points[abi.Bind]) == 0 {
			b, err := fake.Declare("Bind", scenario.MustParse("bind="), fake.Deps{Log: w.log, Bind: w.bind})
			if err != nil {
				w.t.Fatal(err)
			}
			w.plugins["Bind"] = fake.Of(b)
			c.Points[abi.Bind] = []pipeline.Entry{{Plugin: b}}
		}
		p, err := pipeline.New(*c, pipeline.Deps{Workers: workers})
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// swap replaces or adds a plugin of the last profile; without options it removes the plugin.
func (w *world) swap(name string, a scenario.Args) error {
	c := w.profiles[len(w.profiles)-1]
	next := *c
	next.Points = map[abi.Point][]pipeline.Entry{}
	for point, entries := range c.Points {
		next.Points[point] = slices.DeleteFunc(slices.Clone(entries), func(e pipeline.Entry) bool { return e.Plugin.Info().Name == name })
	}
	w.profiles[len(w.profiles)-1] = &next
	switch {
	case a.Has("native"):
		if err := w.native(name); err != nil {
			return err
		}
	case len(a.Keys) > 0:
		w.declare(name, a)
	}
	w.swaps++
	n := w.swaps
	return w.scheduler.Swap(w.pipelines(), []string{name}, inbox.Swap{},
		scheduler.Left{Drained: func() { w.log.Printf("swap %d: drained", n) }})
}

// set stores pods and informs the scheduler.
func (w *world) set(pods ...*state.Pod) {
	for _, p := range pods {
		w.pods[p.UID] = p
	}
	w.get().SetPods(pods...)
}

// bind is the binder: it makes the binding durable, and the watch confirms it.
func (w *world) bind(p *plugin.Placement) error {
	known, ok := w.pods[p.Pod.UID]
	switch {
	case !ok:
		return fmt.Errorf("pods %q not found", p.Pod.Name)
	case known.NodeName() != "":
		return fmt.Errorf("pod %s is already assigned to node %q", p.Pod.Name, known.NodeName())
	}
	bound := known.On(p.Node.Name, p.Patch)
	if w.deaf {
		w.pods[p.Pod.UID] = bound
		return nil
	}
	w.set(bound)
	return nil
}

// Scheduled implements scheduler.Outlet.
func (w *world) Scheduled(pod *state.Pod, node string, left state.Feature) {
	if left != 0 {
		w.log.Printf("scheduled: %s on %s, left to others: %s", pod.Name, node, left)
		return
	}
	w.log.Printf("scheduled: %s on %s", pod.Name, node)
}

// Failed implements scheduler.Outlet.
func (w *world) Failed(f scheduler.Failure) {
	nominated := ""
	if f.Override {
		nominated = fmt.Sprintf(", nominated %q", f.Nominated)
	}
	w.log.Printf("failed: %s: %s: %s%s", f.Pod.Name, f.Reason, f.Message, nominated)
	if known := w.pods[f.Pod.UID]; w.writes && f.Override && known != nil && known.NominatedNode() != f.Nominated {
		w.nominate(known, f.Nominated)
	}
}

// nominate writes status.nominatedNodeName, and the watch delivers it.
func (w *world) nominate(pod *state.Pod, node string) {
	object := pod.Object.DeepCopy()
	object.Status.NominatedNodeName = node
	w.set(state.NewPod(object))
}

// Evict implements objects.Evictor.
func (w *world) Evict(_ context.Context, e objects.Eviction) error {
	w.log.Printf("  evict %s: %s", e.Victim.Name, e.Condition.Message)
	uid := e.Victim.UID
	known := w.pods[uid]
	switch {
	case w.refused[uid]:
		delete(w.refused, uid)
		return errors.New("forbidden")
	case known == nil:
		return nil
	case !w.lingers:
		w.gone(uid)
		return nil
	}
	object := known.Object.DeepCopy()
	object.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	object.Status.Conditions = append(object.Status.Conditions, e.Condition)
	w.set(state.NewPod(object))
	return nil
}

// gone removes a pod and informs the scheduler.
func (w *world) gone(uid types.UID) {
	delete(w.pods, uid)
	w.get().DeletePod(uid)
}

// List implements objects.PodDisruptionBudgets.
func (w *world) List() ([]*policyv1.PodDisruptionBudget, error) { return w.budgets, nil }

// Preempted implements scheduler.Outlet.
func (w *world) Preempted(p scheduler.Preempted) {
	w.log.Printf("preempted: %s: %s", p.Victim.Name, p.Message)
}

// Binding implements scheduler.Outlet.
func (*world) Binding(context.Context, *state.Pod) error { return nil }

// NominationCleared implements scheduler.Outlet. The watch delivers the change too.
func (w *world) NominationCleared(pod *state.Pod) {
	w.log.Printf("nomination cleared: %s", pod.Name)
	if known := w.pods[pod.UID]; known != nil && known.NominatedNode() != "" {
		w.nominate(known, "")
	}
}

// Ended implements scheduler.Observer. Bound pods are printed by the outlet instead.
func (w *world) Ended(e *report.Ending) {
	if e.Code != abi.Success {
		w.log.Printf("ended %d: %s not on %s: %s: %s", e.Sequence, e.Pod, e.Node, e.Code, e.Message)
	}
}

// Attempted implements scheduler.Observer.
func (w *world) Attempted(a *report.Attempt, _ func(row uint32) string) {
	result := "to " + a.Node
	if a.Node == "" {
		result = fmt.Sprintf("%s: %s", a.Code, a.Message)
	} else if a.Code != abi.Success {
		result += " but " + a.Code.String()
	}
	w.log.Printf("attempt %d: %s try %d, %s", a.Sequence, a.Pod, a.Try, result)
}

// run steps until there is nothing to do.
func (w *world) run() {
	for range 100_000 {
		if !w.get().Step(context.Background()) {
			return
		}
	}
	w.t.Fatal("the scheduler never becomes idle")
}

// state prints where pods are, and what the next snapshots will show.
func (w *world) state() {
	s := w.get()
	for place, p := range s.Queued() {
		w.log.Printf("  queue: %s %s%s", p.Pod.Name, place, w.details(p))
	}
	for pod, assumed := range s.Cached() {
		kind := "bound"
		if assumed {
			kind = "assumed"
		}
		annotations := ""
		if len(pod.Object.Annotations) > 0 {
			annotations = fmt.Sprintf(" %v", pod.Object.Annotations)
		}
		w.log.Printf("  cache: %s %s on %s%s", pod.Name, kind, pod.NodeName(), annotations)
	}
	p := s.Pending()
	preempting := ""
	if p.Preempting > 0 {
		preempting = fmt.Sprintf(", %d preempting", p.Preempting)
	}
	w.log.Printf("  %d waiting, %d binding%s", p.Waiting, p.Binding, preempting)
}

// owed describes the debts.
func (w *world) owed() string {
	open, counts := w.get().Debts()
	var b strings.Builder
	for _, d := range open {
		who := string(d.Pod)
		if d.Namespace != "" {
			who = "namespace " + d.Namespace
		}
		fmt.Fprintf(&b, "  %s owes for %s until %v\n", who, d.For, d.Until.Sub(w.start))
	}
	fmt.Fprintf(&b, "  opened %d, paid %d, decayed %d, forgiven %d, void %d",
		counts.Opened, counts.Paid, counts.Decayed, counts.Forgiven, counts.Void)
	return b.String()
}

func (w *world) namespaces() {
	t := &w.get().Snapshot().Namespaces
	for row, ns := range t.Namespace {
		if ns != nil {
			w.log.Printf("  row %d: %s %v", row, ns.Name, ns.Labels)
		}
	}
}

func (w *world) details(p *state.QueuedPod) string {
	var b strings.Builder
	if !p.BackoffUntil.IsZero() {
		fmt.Fprintf(&b, " until %v", p.BackoffUntil.Sub(w.start))
	}
	if len(p.Rejectors)+len(p.Pending) > 0 {
		fmt.Fprintf(&b, " rejectors %v pending %v", p.Rejectors, p.Pending)
	}
	if p.GatedBy != "" {
		fmt.Fprintf(&b, " gated by %s: %s", p.GatedBy, p.GateReason)
	}
	if !p.RetryAt.IsZero() {
		fmt.Fprintf(&b, " again at %v for %s", p.RetryAt.Sub(w.start), p.RetryBy)
	}
	return b.String()
}
