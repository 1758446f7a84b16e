package queues

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
	theirs "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/prioritysort"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// run is both queues and what is known of the pods.
type run struct {
	trace  *Trace
	ctx    context.Context //nolint:containedctx // the life of kube-scheduler's queue
	cancel context.CancelFunc
	logger klog.Logger
	clock  *clocktesting.FakeClock
	world  *world
	store  clientcache.Indexer // of pods, where the nominator looks

	them    *theirs.PriorityQueue
	us      *queue.Queue
	workers *pipeline.Workers

	latest  map[string]*state.Pod
	out     map[string]out
	binding map[string]bool

	nextFlush, nextLeftover time.Time
}

func newRun(t *Trace) (*run, error) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 123_000_000, time.UTC)
	r := &run{
		trace: t, clock: clocktesting.NewFakeClock(start), world: &world{gates: make(map[string]string)},
		latest: make(map[string]*state.Pod), out: make(map[string]out), binding: make(map[string]bool),
		nextFlush: start.Truncate(time.Second).Add(time.Second), nextLeftover: start.Add(30 * time.Second),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.logger = klog.FromContext(r.ctx)
	r.newTheirs()
	if err := r.newOurs(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *run) close() {
	r.cancel()
	if r.workers != nil {
		r.workers.Close()
	}
}

func (r *run) newTheirs() {
	metrics.Register()
	hints := theirs.QueueingHintMap{}
	for _, g := range registrations() {
		hints[g.theirs] = append(hints[g.theirs], &theirs.QueueingHintFunction{PluginName: g.plugin, QueueingHintFn: theirPlugin{g.plugin, r.world}.hint})
	}
	factory := informers.NewSharedInformerFactory(nil, 0)
	r.store = factory.Core().V1().Pods().Informer().GetIndexer()
	gates := map[string]framework.PreEnqueuePlugin{"G": theirPlugin{"G", r.world}, "H": theirPlugin{"H", r.world}}
	r.them = theirs.NewPriorityQueue((&queuesort.PrioritySort{}).Less, factory,
		theirs.WithClock(r.clock), theirs.WithPodMaxBackoffDuration(r.trace.MaxBackoff),
		theirs.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Hour, r.ctx.Done())),
		theirs.WithPreEnqueuePluginMap(map[string]map[string]framework.PreEnqueuePlugin{"": gates}),
		theirs.WithQueueingHintMapPerProfile(theirs.QueueingHintMapPerProfile{"": hints}))
}

// ourClock is the clock of Berth's queue.
type ourClock struct{ *clocktesting.FakeClock }

// Until implements the clock; the queue only reads the time.
func (ourClock) Until(time.Time) (<-chan struct{}, func()) {
	panic("BUG: the queue waits")
}

func (r *run) newOurs() (err error) {
	if r.workers, err = pipeline.NewWorkers(1); err != nil {
		return err
	}
	entry := func(names ...string) (out []pipeline.Entry) {
		for _, name := range names {
			out = append(out, pipeline.Entry{Plugin: newOurPlugin(name, r.world)})
		}
		return out
	}
	gates := entry("G", "H")
	p, err := pipeline.New(pipeline.Config{Points: map[abi.Point][]pipeline.Entry{
		abi.PreEnqueue: gates, abi.Filter: entry("A", "B"), abi.Bind: gates[:1], abi.QueueSort: {{Plugin: prioritysort.New()}},
	}}, pipeline.Deps{Workers: r.workers})
	if err != nil {
		return err
	}
	config := queue.DefaultConfig()
	config.MaxBackoff = r.trace.MaxBackoff
	r.us, err = queue.New(config, queue.Deps{
		Clock: ourClock{r.clock}, Less: p.Less, Wants: p.Wants,
		Hint: func(event state.ClusterEvent, object state.Object, pods []*state.QueuedPod, out []state.Requeue) {
			p.Hint(event, object, pods, out)
		},
		Gate: func(pods []*state.QueuedPod, out []queue.GateResult) {
			answers := make([]pipeline.Gate, len(pods))
			p.PreEnqueue(pods, answers)
			for i := range answers {
				out[i] = queue.GateResult{Plugin: answers[i].Plugin, Reason: answers[i].Reason}
			}
		},
	})
	return err
}

// theirs and ours print the whole state of the queues.
func (r *run) theirs() string {
	var lines []string
	add := func(place string, pods []*v1.Pod) {
		for _, p := range pods {
			i, ok := r.them.GetPod(p.Name, p.Namespace, nil)
			if !ok {
				lines = append(lines, place+" "+p.Name+" that is not there")
				continue
			}
			at := place
			if i.Gated() {
				at = "gated"
			}
			lines = append(lines, line(at, i.Pod, i.Attempts, i.UnschedulableCount, i.ConsecutiveErrorsCount, sets.List(i.UnschedulablePlugins),
				sets.List(i.PendingPlugins), i.GatingPlugin, i.WasFlushedFromUnschedulable, i.Timestamp))
		}
	}
	add("active", r.them.PodsInActiveQ())
	add("backoff", r.them.PodsInBackoffQ())
	add("unschedulable", r.them.UnschedulablePods())
	for _, p := range r.them.InFlightPods() {
		lines = append(lines, "in-flight "+p.Name)
	}
	slices.Sort(lines)
	for _, node := range []string{"n0", "n1"} {
		names := []string{node}
		for _, p := range r.them.NominatedPodsForNode(node) {
			names = append(names, p.GetPod().Name)
		}
		lines = append(lines, strings.Join(names, " "))
	}
	return strings.Join(lines, "\n")
}

func (r *run) ours() string {
	var lines []string
	for place, p := range r.us.All() {
		at := place.String()
		switch place {
		case queue.ErrorBackoff:
			at = "backoff"
		case queue.InFlight:
			lines = append(lines, "in-flight "+p.Pod.Name)
			continue
		case queue.Binding:
			continue
		}
		lines = append(lines, line(at, p.Pod.Object, p.Attempts, p.Unschedulable, p.Errors, p.Rejectors, p.Pending, p.GatedBy, p.Flushed, p.Timestamp))
	}
	slices.Sort(lines)
	nominated := make(map[string][]string)
	for node, pods := range r.us.Nominations().Nodes {
		for _, p := range pods {
			nominated[node] = append(nominated[node], p.Name)
		}
	}
	for _, node := range []string{"n0", "n1"} {
		lines = append(lines, strings.Join(append([]string{node}, nominated[node]...), " "))
	}
	return strings.Join(lines, "\n")
}

func line(place string, p *v1.Pod, attempts, unschedulable, errors int, rejectors, pending []string, gate string, flushed bool, at time.Time) string {
	return fmt.Sprintf("%s %s attempts %d unschedulable %d errors %d rejectors %v pending %v gate %q flushed %v at %v priority %d labels %v",
		place, p.Name, attempts, unschedulable, errors, rejectors, pending, gate, flushed, at.Format("15:04:05.000"), *p.Spec.Priority, p.Labels)
}
