package sim

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// world plays the API server: it has the pods, binds them, and hears what the
// scheduler has to say of them.
type world struct {
	config    *Config
	clock     *clock.Step
	scheduler *scheduler.Scheduler

	pods      []*simPod
	byUID     map[types.UID]*simPod
	leaving   departures
	done      int // pods placed or given up
	changes   int // of the cluster: a try after one may end otherwise
	usage     *usage
	explained *report.Attempt
}

// simPod is a pod of the simulation and what has become of it.
type simPod struct {
	pod     *state.Pod
	until   time.Time // when it leaves; zero for never
	node    string    // where it was placed
	gone    bool      // it left, or was given up
	message string    // of the last failed try
	tries   int
	futile  int // failed tries since the cluster last changed
	seen    int // world.changes at the last try
}

var (
	_ objects.Binder     = (*world)(nil)
	_ scheduler.Outlet   = (*world)(nil)
	_ scheduler.Observer = (*world)(nil)
)

func newWorld(config *Config, c *clock.Step) *world {
	return &world{config: config, clock: c, byUID: make(map[types.UID]*simPod), usage: newUsage(config.Nodes)}
}

// bindInitial puts a pod on its node before anything is scheduled.
func (w *world) bindInitial(object *v1.Pod) {
	pod := state.NewPod(object)
	w.usage.add(pod)
	w.scheduler.SetPods(pod)
}

// admit takes in a pod that arrives.
func (w *world) admit(a input.Arrival, start time.Time) *state.Pod {
	p := &simPod{pod: state.NewPod(a.Pod)}
	if a.Until > 0 {
		p.until = start.Add(a.Until)
		heap.Push(&w.leaving, p)
	}
	w.pods = append(w.pods, p)
	w.byUID[p.pod.UID] = p
	w.changes++
	return p.pod
}

// nextDeparture returns when the next pod leaves.
func (w *world) nextDeparture() (time.Time, bool) {
	if len(w.leaving) == 0 {
		return time.Time{}, false
	}
	return w.leaving[0].until, true
}

// depart removes the pods whose time is over, placed or not.
func (w *world) depart() {
	for len(w.leaving) > 0 && !w.leaving[0].until.After(w.clock.Now()) {
		p := heap.Pop(&w.leaving).(*simPod)
		if p.gone {
			continue
		}
		p.gone = true
		w.changes++
		if p.node != "" {
			w.usage.remove(p.pod)
		} else {
			w.finish()
		}
		w.scheduler.DeletePod(p.pod.UID)
	}
}

// Bind implements objects.Binder: the binding is durable at once, and the watch
// confirms it.
func (w *world) Bind(_ context.Context, b objects.Binding) error {
	p, ok := w.byUID[b.Pod.UID]
	if !ok || p.gone {
		return fmt.Errorf("pod %s is not there any more", b.Pod.Key())
	}
	if p.node != "" {
		return fmt.Errorf("pod %s is on node %s already", b.Pod.Key(), p.node)
	}
	p.node = b.Node
	p.pod = b.Pod
	if !b.Patch.Empty() {
		p.pod = b.Pod.On(b.Node, b.Patch)
	}
	w.usage.add(p.pod)
	w.changes++
	w.scheduler.SetPods(p.pod)
	return nil
}

// Scheduled implements scheduler.Outlet.
func (w *world) Scheduled(*state.Pod, string) { w.finish() }

// finish counts a pod that needs no more tries.
func (w *world) finish() {
	w.done++
	if w.config.Progress != nil {
		w.config.Progress(w.done)
	}
}

// Failed implements scheduler.Outlet: it takes down the message and the
// nomination, and gives up pods that have had their tries.
func (w *world) Failed(f scheduler.Failure) {
	p := w.byUID[f.Pod.UID]
	if p == nil || p.gone {
		return
	}
	p.message = f.Message
	p.tries++
	if p.seen != w.changes {
		p.seen, p.futile = w.changes, 0
	}
	p.futile++
	if p.tries == w.config.Attempts || p.futile == giveUpAfter {
		p.gone = true
		w.finish()
		w.scheduler.DeletePod(p.pod.UID)
		return
	}
	if f.Override && f.Nominated != p.pod.NominatedNode() {
		object := p.pod.Object.DeepCopy()
		object.Status.NominatedNodeName = f.Nominated
		p.pod = state.NewPod(object)
		w.scheduler.SetPods(p.pod)
	}
}

// Attempted implements scheduler.Observer.
func (w *world) Attempted(a *report.Attempt, name func(row uint32) string) {
	if a.Pod == w.config.Explain.Name && a.Namespace == w.config.Explain.Namespace {
		w.explained = a.Clone(name)
	}
}

// departures is a heap of pods by the time at which they leave.
type departures []*simPod

func (d departures) Len() int           { return len(d) }
func (d departures) Less(i, j int) bool { return d[i].until.Before(d[j].until) }
func (d departures) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *departures) Push(x any) { *d = append(*d, x.(*simPod)) }

// Pop implements heap.Interface.
func (d *departures) Pop() any {
	old := *d
	last := old[len(old)-1]
	*d = old[:len(old)-1]
	return last
}
