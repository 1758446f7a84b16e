package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internal "k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/upstream"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// theirs is kube-scheduler's engine over a world: its cache, which gets the world's objects,
// and its cycle up to the choice of a node.
type theirs struct {
	ctx       context.Context //nolint:containedctx // the life of the engine
	logger    klog.Logger
	world     *world.World
	scheduler *scheduler.Scheduler
	nodes     map[string]*v1.Node
	pods      map[string]*v1.Pod

	preemptionArgs runtime.Object // nil if the profile does not preempt

	pod        *v1.Pod
	outcome    Decision
	preemption *theirPreemption
}

func newTheirs(ctx context.Context, w *world.World, configuration []byte) (*theirs, error) {
	c, err := upstream.Load(configuration)
	if err != nil {
		return nil, err
	}
	t := &theirs{ctx: ctx, logger: klog.FromContext(ctx), world: w, nodes: make(map[string]*v1.Node), pods: make(map[string]*v1.Pod)}
	t.scheduler, err = scheduler.New(ctx, fake.NewSimpleClientset(), ordered{w.Informers}, nil,
		func(string) events.EventRecorderLogger { return noEvents{} },
		scheduler.WithProfiles(c.Profiles...), scheduler.WithPercentageOfNodesToScore(c.PercentageOfNodesToScore),
		scheduler.WithParallelism(1))
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(t.scheduler.Profiles[c.Profiles[0].SchedulerName].ListPlugins().PostFilter.Enabled, func(p config.Plugin) bool { return p.Name == preempts }) {
		t.preemptionArgs = upstream.Args(c, preempts)
	}
	schedule := t.scheduler.SchedulePod
	t.scheduler.NextEntity = func(klog.Logger) (internal.QueuedEntityInfo, error) {
		info, err := internal.NewPodInfo(t.pod)
		// kube-scheduler ignores errors of affinity terms here, as its queue does.
		_ = err
		return &internal.QueuedPodInfo{PodInfo: info, QueueingParams: internal.QueueingParams{
			UnschedulablePlugins: sets.New[string](), PendingPlugins: sets.New[string](),
		}}, nil
	}
	t.scheduler.SchedulePod = func(ctx context.Context, f internal.Framework, cs framework.CycleState, pod *internal.QueuedPodInfo) (scheduler.ScheduleResult, error) {
		result, err := schedule(ctx, f, cs, pod)
		t.take(ctx, f, cs, result, err)
		if err == nil {
			err = errDecided // before anything is bound
		}
		return result, err
	}
	t.scheduler.FailureHandler = func(_ context.Context, _ internal.Framework, _ *internal.QueuedPodInfo, s *framework.Status, n *framework.NominatingInfo, _ time.Time) {
		t.failed(s, n)
	}
	return t, nil
}

// errDecided ends a cycle whose outcome is known.
var errDecided = errors.New("decided")

// follow updates the cache with the changes of the world.
func (t *theirs) follow() error {
	nodes, pods := t.world.Objects()
	seen := make(map[string]bool)
	for _, n := range nodes {
		seen[n.Name] = true
		switch old := t.nodes[n.Name]; {
		case old == nil:
			t.scheduler.Cache.AddNode(t.logger, n)
		case old != n:
			t.scheduler.Cache.UpdateNode(t.logger, old, n)
		}
		t.nodes[n.Name] = n
	}
	for name, n := range t.nodes {
		if !seen[name] {
			if err := t.scheduler.Cache.RemoveNode(t.logger, n); err != nil {
				return err
			}
			delete(t.nodes, name)
		}
	}
	// Pods are removed before others are added, as in the world: a pod with the same host port
	// as a removed one would lose it with that one (kubernetes/kubernetes/issues/42523).
	clear(seen)
	for _, p := range pods {
		seen[string(p.UID)] = true
	}
	for key, p := range t.pods {
		if !seen[key] {
			if err := t.scheduler.Cache.RemovePod(t.logger, p); err != nil {
				return err
			}
			delete(t.pods, key)
		}
	}
	for _, p := range pods {
		key := string(p.UID)
		var err error
		switch old := t.pods[key]; {
		case old == nil:
			err = t.scheduler.Cache.AddPod(t.logger, p)
		case old != p:
			err = t.scheduler.Cache.UpdatePod(t.logger, old, p)
		}
		if err != nil {
			return err
		}
		t.pods[key] = p
	}
	return nil
}

func (t *theirs) decide(q *scenario.Query) Decision {
	for _, pod := range q.Nominated {
		t.nominate(pod)
	}
	t.pod, t.outcome, t.preemption = q.Pod, Decision{Failed: errors.New("the engine did not try the pod")}, nil
	store := t.world.Informers.Core().V1().Pods().Informer().GetIndexer()
	if _, placed, _ := store.Get(q.Pod); !placed { // preemption looks there for its latest version
		_ = store.Add(q.Pod)
		defer func() { _ = store.Delete(q.Pod) }()
	}
	t.scheduler.ScheduleOne(t.ctx)
	for _, pod := range q.Nominated {
		t.scheduler.SchedulingQueue.Delete(t.logger, pod)
		_ = t.world.Informers.Core().V1().Pods().Informer().GetIndexer().Delete(pod)
	}
	return t.outcome
}

// nominate adds a nominated pod to the queue, where the nominator looks for it, and to the
// informer's store; otherwise it would count as deleted.
func (t *theirs) nominate(pod *v1.Pod) {
	_ = t.world.Informers.Core().V1().Pods().Informer().GetIndexer().Add(pod)
	t.scheduler.SchedulingQueue.Add(t.ctx, pod)
}

// take records the outcome of the engine's search, and asks the framework for what the outcome
// does not contain: the verdicts on all nodes, and all scores.
func (t *theirs) take(ctx context.Context, f internal.Framework, cs framework.CycleState, result scheduler.ScheduleResult, err error) {
	d := Decision{Node: result.SuggestedHost, Verdicts: make(map[string]Verdict)}
	defer func() { t.outcome = d }()
	var fit *internal.FitError
	switch {
	case errors.Is(err, scheduler.ErrNoNodesAvailable):
		d.Message = err.Error()
		return
	case errors.As(err, &fit):
		d.Message = fit.Error()
		d.Rejectors, d.Pending = sets.List(fit.Diagnosis.UnschedulablePlugins), sets.List(fit.Diagnosis.PendingPlugins)
	case err != nil:
		d.Failed = err
		return
	}
	if err := t.explain(ctx, f, &d, fit); err != nil {
		d.Failed = err
	}
	if fit == nil || t.preemptionArgs == nil {
		return
	}
	if t.preemption, err = t.preempt(ctx, f, cs, fit); err != nil {
		d.Failed = err
	}
}

// failed records the engine's result for an unschedulable pod: PostFilter contributes to the
// message.
func (t *theirs) failed(s *framework.Status, n *framework.NominatingInfo) {
	if errors.Is(s.AsError(), errDecided) || t.outcome.Failed != nil {
		return
	}
	t.outcome.Message = s.AsError().Error()
	if t.preemption == nil {
		t.preemption = &theirPreemption{}
	}
	t.preemption.nomination = keep
	if n != nil {
		t.preemption.nomination = nomination(n.NominatingMode == framework.ModeOverride, n.NominatedNodeName)
	}
}

func (t *theirs) explain(ctx context.Context, f internal.Framework, d *Decision, fit *internal.FitError) error {
	nodes, err := f.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return err
	}
	if fit != nil {
		for _, n := range nodes {
			name := n.Node().Name
			status := fit.Diagnosis.NodeToStatus.Get(name)
			d.Verdicts[name] = verdictOf(status)
		}
		return nil
	}
	cs := internal.NewCycleState()
	set, status, by := f.RunPreFilterPlugins(ctx, cs, t.pod)
	if !status.IsSuccess() {
		return fmt.Errorf("the second time PreFilter answers %v", status)
	}
	nominated := t.pod.Status.NominatedNodeName
	if nominated != "" && d.Node == nominated {
		d.Verdicts = nil // only that node was evaluated
		return nil
	}
	if n, err := f.SnapshotSharedLister().NodeInfos().Get(nominated); err == nil && !set.AllNodes() {
		// If it is evaluated first, the plugins that reject it are counted as having excluded
		// nodes.
		by.Insert(f.RunFilterPluginsWithNominatedPods(ctx, cs, t.pod, n).Plugin())
	}
	var feasible []framework.NodeInfo
	for _, n := range nodes {
		name := n.Node().Name
		// The nominated node is evaluated first, whatever node the pod may go to.
		if !set.AllNodes() && !set.NodeNames.Has(name) && name != nominated {
			d.Verdicts[name] = Verdict{Plugin: sets.List(by)[0], Code: abi.UnschedulableAndUnresolvable,
				Reasons: []string{fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by))}}
			continue
		}
		status := f.RunFilterPluginsWithNominatedPods(ctx, cs, t.pod, n)
		if status.IsSuccess() {
			feasible = append(feasible, n)
			continue
		}
		d.Verdicts[name] = verdictOf(status)
	}
	if !f.HasScorePlugins() {
		for _, n := range feasible {
			d.Any = append(d.Any, n.Node().Name)
		}
		return nil
	}
	if len(feasible) < 2 {
		return nil
	}
	return t.score(ctx, f, cs, feasible, d)
}

func (t *theirs) score(ctx context.Context, f internal.Framework, cs framework.CycleState, feasible []framework.NodeInfo, d *Decision) error {
	if status := f.RunPreScorePlugins(ctx, cs, t.pod, feasible); !status.IsSuccess() {
		return status.AsError()
	}
	scores, status := f.RunScorePlugins(ctx, cs, t.pod, feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}
	d.Totals, d.Scores = make(map[string]int64), make(map[string]map[string]int64)
	for _, node := range scores {
		d.Totals[node.Name] = node.TotalScore
		for _, s := range node.Scores {
			if d.Scores[s.Name] == nil {
				d.Scores[s.Name] = make(map[string]int64)
			}
			d.Scores[s.Name][node.Name] = s.Score
		}
	}
	return nil
}

func verdictOf(s *framework.Status) Verdict {
	return Verdict{Plugin: s.Plugin(), Code: abi.Code(s.Code()), Reasons: slices.Clone(s.Reasons())}
}

// noEvents drops events.
type noEvents struct{}

// Eventf implements events.EventRecorder.
func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// WithLogger implements events.EventRecorderLogger.
func (e noEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return e }
