package accept

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internal "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/upstream"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// filters is kube-scheduler's framework of a profile over its own cache.
type filters struct {
	ctx       context.Context //nolint:containedctx // the life of the framework
	logger    klog.Logger
	world     *world.World // the stores of its informers
	cache     cache.Cache
	snapshot  *cache.Snapshot
	framework internal.Framework
	nodes     map[string]*v1.Node
	pods      map[string]*v1.Pod // by UID
}

func newFilters(ctx context.Context, configuration []byte) (*filters, error) {
	c, err := upstream.Load(configuration)
	if err != nil {
		return nil, err
	}
	w := world.New()
	dra, err := upstream.NewDRAManager(ctx, w.Informers)
	if err != nil {
		return nil, err
	}
	f := &filters{
		ctx: ctx, logger: klog.FromContext(ctx), world: w, cache: cache.New(ctx, nil, false, false), snapshot: cache.NewEmptySnapshot(),
		nodes: make(map[string]*v1.Node), pods: make(map[string]*v1.Pod),
	}
	f.framework, err = frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &c.Profiles[0],
		frameworkruntime.WithClientSet(fake.NewClientset()), frameworkruntime.WithInformerFactory(w.Informers),
		frameworkruntime.WithSnapshotSharedLister(f.snapshot), frameworkruntime.WithSharedDRAManager(dra),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(w.Informers.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithPodGroupManager(f.cache), frameworkruntime.WithEventRecorder(noEvents{}),
		frameworkruntime.WithParallelism(1))
	return f, err
}

// ask returns why a pod may not be on its node, empty if it may.
func (f *filters) ask(placed *v1.Pod) (string, error) {
	pod := placed.DeepCopy()
	pod.Spec.NodeName = ""        // as when it was decided
	pod.Spec.ResourceClaims = nil // the manager of claims knows none
	if err := f.cache.UpdateSnapshot(f.logger, f.snapshot); err != nil {
		return "", err
	}
	state := internal.NewCycleState()
	set, status, _ := f.framework.RunPreFilterPlugins(f.ctx, state, pod)
	if status.Code() == framework.Error {
		return "", status.AsError()
	}
	if !status.IsSuccess() {
		return says(status), nil
	}
	name := placed.Spec.NodeName
	if !set.AllNodes() && !set.NodeNames.Has(name) {
		return "PreFilter leaves the node out", nil
	}
	node, err := f.snapshot.NodeInfos().Get(name)
	if err != nil {
		return "there is no such node", nil //nolint:nilerr // that is the answer
	}
	status = f.framework.RunFilterPlugins(f.ctx, state, pod, node)
	if status.Code() == framework.Error {
		return "", status.AsError()
	}
	if !status.IsSuccess() {
		return says(status), nil
	}
	return "", nil
}

func says(s *framework.Status) string {
	return fmt.Sprintf("%s: %s", s.Plugin(), strings.Join(s.Reasons(), ", "))
}

// place adds a pod to its node, or updates one that is there.
func (f *filters) place(pod *v1.Pod) error {
	old := f.pods[string(pod.UID)]
	f.pods[string(pod.UID)] = pod
	if err := f.world.Apply(&scenario.Step{Set: scenario.Objects{Pods: []*v1.Pod{pod}}}); err != nil {
		return err
	}
	if old == nil {
		return f.cache.AddPod(f.logger, pod)
	}
	return f.cache.UpdatePod(f.logger, old, pod)
}

// remove removes a pod, if it was placed.
func (f *filters) remove(pod *v1.Pod) error {
	old := f.pods[string(pod.UID)]
	if old == nil {
		return nil
	}
	delete(f.pods, string(pod.UID))
	if err := f.world.Apply(&scenario.Step{Delete: []scenario.Ref{scenario.RefOf(scenario.KindPod, pod)}}); err != nil {
		return err
	}
	return f.cache.RemovePod(f.logger, old)
}

// apply changes objects other than pods.
func (f *filters) apply(step *scenario.Step) error {
	if err := f.world.Apply(step); err != nil {
		return err
	}
	for _, node := range step.Set.Nodes {
		if old := f.nodes[node.Name]; old != nil {
			f.cache.UpdateNode(f.logger, old, node)
		} else {
			f.cache.AddNode(f.logger, node)
		}
		f.nodes[node.Name] = node
	}
	for _, ref := range step.Delete {
		kind, _, name := ref.Split()
		if old := f.nodes[name]; kind == scenario.KindNode && old != nil {
			delete(f.nodes, name)
			if err := f.cache.RemoveNode(f.logger, old); err != nil {
				return err
			}
		}
	}
	return nil
}

// noEvents drops events.
type noEvents struct{}

// Eventf implements events.EventRecorder.
func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// WithLogger implements events.EventRecorderLogger.
func (e noEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return e }
