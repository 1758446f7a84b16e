package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/internal/heap"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// apiServer simulates the API server: it stores the pods, binds them, and receives what the
// scheduler reports about them.
type apiServer struct {
	config    *Config
	clock     *clock.Step
	start     time.Time
	scheduler *scheduler.Scheduler
	volumes   *volumes
	owners    *owners.Store

	pods      []*simPod // in the order of arrival
	byUID     map[types.UID]*simPod
	leaving   *heap.Heap[types.UID, *simPod] // by the time at which they leave
	resting   []*simPod                      // in the order in which they were set aside
	answered  int                            // see Config.Progress
	placed    int                            // number of bindings
	changes   int                            // number of changes in the cluster: an attempt after one may end differently
	usage     *usage
	budgets   *budgets
	evicted   []*simPod // in the order of their evictions
	resizes   []*simPod // pods on nodes that were tried for a resize in place, in the order of their first attempts
	explained *report.Attempt
}

// simPod is a pod of the simulation and its state.
type simPod struct {
	pod      *state.Pod
	until    time.Time     // when it leaves; zero for never
	runs     time.Duration // how long it stays on a node; 0 until it leaves
	patch    state.Patch   // what plugins wrote on it
	node     string        // where it was placed
	at       time.Duration // when, since the start
	answered bool          // it is counted in apiServer.answered
	left     bool          // it has left the cluster
	initial  bool          // it was on its node from the start
	givenUp  bool          // it has used up Config.Attempts; one on a node is still there
	message  string        // of the last failed attempt, or of gatedBy
	gatedBy  string        // the plugin that holds it back
	tries    int
	futile   int // failed attempts since the cluster last changed
	seen     int // apiServer.changes at the last failed attempt

	evictedBy *state.Pod // the pod that it was evicted for; nil if it was not evicted
	evictedAt time.Duration
}

// gone reports whether the scheduler no longer knows the pod.
func (p *simPod) gone() bool { return p.left || p.givenUp && p.node == "" }

var (
	_ objects.Binder               = (*apiServer)(nil)
	_ objects.Evictor              = (*apiServer)(nil)
	_ objects.PodDisruptionBudgets = (*apiServer)(nil)
	_ scheduler.Outlet             = (*apiServer)(nil)
	_ scheduler.Observer           = (*apiServer)(nil)
)

func newAPIServer(config *Config, c *clock.Step) *apiServer {
	w := &apiServer{
		config: config, clock: c, start: c.Now(), byUID: make(map[types.UID]*simPod), usage: newUsage(config.Nodes),
		budgets: newBudgets(config.PodDisruptionBudgets), owners: owners.New(),
		leaving: heap.New(
			func(p *simPod) types.UID { return p.pod.UID },
			func(a, b *simPod) bool { return a.until.Before(b.until) }),
	}
	w.volumes = newVolumes(w, config.Nodes)
	return w
}

// now is the time since the start.
func (w *apiServer) now() time.Duration { return w.clock.Now().Sub(w.start) }

// stored tells the recorder of an object that plugins can see from now on.
func (w *apiServer) stored(object metav1.Object) {
	if r := w.config.Recorder; r != nil {
		r.Enter(&inbox.Object{Object: object, Early: true})
	}
}

// bindInitial puts a pod on its node before anything is scheduled.
func (w *apiServer) bindInitial(pod *state.Pod) {
	if object := w.volumes.appears(pod.Object); object != pod.Object {
		pod = state.NewPod(object)
	}
	p := &simPod{pod: pod, node: pod.NodeName(), initial: true}
	w.byUID[p.pod.UID] = p
	w.budgets.admit(p)
	w.usage.add(p.pod)
	w.scheduler.SetPods(p.pod)
}

// admit adds a pod that arrives.
func (w *apiServer) admit(a input.Arrival) *state.Pod {
	var before *state.Pod // of which this one may be a copy
	if n := len(w.pods); n > 0 {
		before = w.pods[n-1].pod
	}
	p := &simPod{pod: state.NewCopy(w.volumes.appears(a.Pod), before), runs: a.Runs}
	if a.Until > 0 {
		p.until = w.start.Add(a.Until)
		w.leaving.Push(p)
	}
	w.pods = append(w.pods, p)
	w.byUID[p.pod.UID] = p
	w.budgets.admit(p)
	w.changes++
	return p.pod
}

// leaves sets when a pod leaves.
func (w *apiServer) leaves(p *simPod, at time.Time) {
	p.until = at
	if !w.leaving.Fix(p.pod.UID) {
		w.leaving.Push(p)
	}
}

// nextDeparture returns when the next pod leaves.
func (w *apiServer) nextDeparture() (time.Time, bool) {
	p, ok := w.leaving.Peek()
	if !ok {
		return time.Time{}, false
	}
	return p.until, true
}

// depart removes the pods whose time is over, placed or not.
func (w *apiServer) depart() {
	var untold []*simPod
	for {
		p, ok := w.leaving.Peek()
		if !ok || p.until.After(w.clock.Now()) {
			break
		}
		w.leaving.Pop()
		p.left = true
		w.volumes.disappears(p.pod.Object)
		if p.givenUp && p.node == "" {
			continue
		}
		w.changes++
		w.answer(p)
		if p.node != "" {
			w.usage.remove(p.pod)
		} else if p.message == "" {
			p.message = "left the cluster before it was tried"
			untold = append(untold, p)
		}
		w.scheduler.DeletePod(p.pod.UID)
	}
	if len(untold) > 0 {
		w.tellGated() // while the scheduler still knows the pods
	}
}

// tellGated records why gated pods are held back.
func (w *apiServer) tellGated() {
	for place, q := range w.scheduler.Queued() {
		// A pod that failed because of a plugin has a message from it.
		p := w.byUID[q.Pod.UID]
		if p == nil {
			continue
		}
		p.gatedBy = ""
		if place == queue.Gated && (q.Errors == 0 || p.message == "") {
			p.gatedBy, p.message = q.GatedBy, q.GateReason
		}
	}
}

// Bind implements objects.Binder: the binding is stored at once, and the watch confirms it.
func (w *apiServer) Bind(_ context.Context, b objects.Binding) error {
	p, ok := w.byUID[b.Pod.UID]
	if !ok || p.gone() {
		return fmt.Errorf("pod %s no longer exists", b.Pod.Key())
	}
	if p.node != "" {
		return fmt.Errorf("pod %s is already on node %s", b.Pod.Key(), p.node)
	}
	p.node, p.at = b.Node, w.now()
	p.pod, p.patch = b.Pod, b.Patch
	if p.pod.NodeName() != b.Node || !b.Patch.Empty() {
		p.pod = b.Pod.On(b.Node, b.Patch)
	}
	w.usage.add(p.pod)
	if p.runs > 0 {
		w.leaves(p, w.clock.Now().Add(p.runs))
	}
	w.placed++
	w.changes++
	w.answer(p)
	w.scheduler.SetPods(p.pod)
	return nil
}

// Scheduled implements scheduler.Outlet. Bind has recorded the placement already.
func (w *apiServer) Scheduled(*state.Pod, string, state.Feature) {}

// answer counts a pod once.
func (w *apiServer) answer(p *simPod) {
	if p.answered || p.initial {
		return
	}
	p.answered = true
	w.answered++
	if w.config.Progress != nil {
		w.config.Progress(w.answered)
	}
	if w.config.Answered != nil {
		w.config.Answered(p.pod, p.node)
	}
}

// Failed implements scheduler.Outlet. It records the message and the nomination, gives up pods
// that have used up their attempts, and sets aside those that keep failing.
func (w *apiServer) Failed(f scheduler.Failure) {
	p := w.byUID[f.Pod.UID]
	if p == nil || p.gone() {
		return
	}
	w.answer(p)
	if w.tried(p, f.Message, f.RetryAfter > 0); p.givenUp {
		return
	}
	if f.Override && f.Nominated != p.pod.NominatedNode() {
		w.change(p, func(object *v1.Pod) { object.Status.NominatedNodeName = f.Nominated })
		if p.futile < restAfter {
			w.scheduler.SetPods(p.pod)
		}
	}
}

// mostRetries is how often a pod is tried that waits for a time, while the cluster does not change.
const mostRetries = 1000

// tried counts a failed attempt. The scheduler no longer tries a pod that is given up or set aside: one that waits for a time later.
func (w *apiServer) tried(p *simPod, message string, waits bool) {
	p.message = message
	p.tries++
	if p.seen != w.changes {
		p.seen, p.futile = w.changes, 0
	}
	p.futile++
	switch {
	case p.tries == w.config.Attempts:
		p.givenUp = true
	case p.futile >= mostRetries, !waits && p.futile >= restAfter:
		w.resting = append(w.resting, p)
	default:
		return
	}
	if p.node == "" {
		w.scheduler.DeletePod(p.pod.UID)
		return
	}
	waiting := p.pod
	w.change(p, func(object *v1.Pod) { // it stays on its node, and waits for no resize
		waits := func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending }
		object.Status.Conditions = slices.DeleteFunc(object.Status.Conditions, waits)
	})
	w.scheduler.SetPods(p.pod)
	if !p.givenUp {
		p.pod = waiting
	}
}

// wake returns pods that were set aside to the scheduler if the cluster has changed since. It
// reports whether there were any.
func (w *apiServer) wake() bool {
	var pods []*state.Pod
	w.resting = slices.DeleteFunc(w.resting, func(p *simPod) bool {
		if !p.left && p.seen != w.changes {
			pods = append(pods, p.pod)
		}
		return p.left || p.seen != w.changes
	})
	if len(pods) > 0 {
		w.scheduler.SetPods(pods...)
	}
	return len(pods) > 0
}

// Ended implements scheduler.Observer: an explanation must not show a node that the pod did not
// get.
func (w *apiServer) Ended(e *report.Ending) {
	if a := w.explained; a != nil && a.Sequence == e.Sequence && e.Code != abi.Success {
		a.Code, a.Node, a.Message = e.Code, "", e.Message
	}
}

// Attempted implements scheduler.Observer.
func (w *apiServer) Attempted(a *report.Attempt, name func(row uint32) string) {
	if w.config.Attempted != nil {
		w.config.Attempted(a, name)
	}
	if p := w.byUID[a.UID]; p != nil && p.node != "" { // it waits for a resize, of which Failed is not told
		if p.tries == 0 {
			w.resizes = append(w.resizes, p)
		}
		w.tried(p, a.Message, false)
	}
	if a.Pod == w.config.Explain.Name && a.Namespace == w.config.Explain.Namespace {
		w.explained = a.Clone(name)
	}
}
