package tenants

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/tenancy/follow"
)

// world is a scheduler in memory, with the objects of its API.
type world struct {
	assembly *assembly.Assembly
	follower *follow.Follower
	changed  chan struct{}
	stop     func()

	mu      sync.Mutex
	objects tenancy.Objects
	judged  map[types.UID]string // why a pod was not placed, or its node
	news    chan struct{}        // has an element when judged has changed
	// arrivals are the pods of steady.
	arrivals map[types.UID]*arrival
}

// namespace is the name of a tenant's.
func namespace(i int) string { return fmt.Sprintf("team-%02d", i) }

// newWorld starts a scheduler without plugins.
func newWorld(ctx context.Context, modules *assembly.Modules, nodes int) (*world, error) {
	w := &world{changed: make(chan struct{}, 1), news: make(chan struct{}, 1), judged: make(map[types.UID]string), arrivals: make(map[types.UID]*arrival)}
	var err error
	if w.assembly, err = assembly.New(assembly.Config{Modules: modules, Seed: 1, Reuse: equivalence.Default()}, assembly.Deps{Binder: w, Outlet: w, Observer: w}); err != nil {
		return nil, err
	}
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%04d", i), Labels: map[string]string{"berth.dev/pool": fmt.Sprint("pool-", i%4)}}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("256Gi"), v1.ResourcePods: resource.MustParse("110")}
		w.assembly.Scheduler.SetNode(state.NewNode(n))
	}
	w.follower = follow.New(follow.Config{}, follow.Deps{Source: w, Scheduler: w.assembly, Modules: modules, Writer: w})
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = w.assembly.Scheduler.Run(ctx) }) // it ends with the context
	running.Go(func() { w.follower.Run(ctx) })
	w.stop = func() {
		cancel()
		running.Wait()
		w.assembly.Close()
	}
	return w, nil
}

// memoryPerPlugin is such that 200 plugins have room in --plugin-memory as it is by default.
const memoryPerPlugin = 10 << 20

// attach creates the objects of some tenants, and returns when their plugins run.
func (w *world) attach(ctx context.Context, image string, tenants, plugins int) error {
	w.mu.Lock()
	w.objects.PluginGrants = []*v1alpha1.PluginGrant{{
		ObjectMeta: metav1.ObjectMeta{Name: "all", UID: "all", Generation: 1},
		Spec: v1alpha1.PluginGrantSpec{
			NamespaceSelector: &metav1.LabelSelector{}, Reads: []v1alpha1.Read{v1alpha1.ReadGenerations}, MaxPlugins: int32(plugins) + 1, MemoryPerPlugin: resource.NewQuantity(memoryPerPlugin, resource.BinarySI),
			Modules: granted(image),
		},
	}}
	for i := range tenants {
		for n := range plugins {
			w.objects.TenantPlugins = append(w.objects.TenantPlugins, tenantPlugin(image, namespace(i), fmt.Sprint("plugin-", n)))
		}
	}
	want := len(w.objects.TenantPlugins)
	w.mu.Unlock()
	w.changed <- struct{}{}
	for {
		if status := w.assembly.Status(); len(status.Plugins) == want {
			return nil
		}
		for name, err := range w.assembly.Refusals() {
			return fmt.Errorf("%s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// granted allows the repository of an image.
func granted(image string) []v1alpha1.GrantedModules {
	return []v1alpha1.GrantedModules{{Repositories: []v1alpha1.Repository{v1alpha1.Repository(strings.TrimSuffix(image, ":1"))}}}
}

func tenantPlugin(image, namespace, name string) *v1alpha1.TenantPlugin {
	p := &v1alpha1.TenantPlugin{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), Generation: 1}}
	p.Spec.Module.Image = v1alpha1.Image(image)
	p.Spec.Config = &v1alpha1.Config{RawExtension: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"tenants":{%q:{"pools":["pool-0","pool-1"]}}}`, namespace)}}
	return p
}

// schedule has pods of some tenants placed, and returns when all are.
func (w *world) schedule(ctx context.Context, prefix string, pods, tenants int) error {
	var all []*state.Pod
	for i := range pods {
		all = append(all, newPod(namespace(i%tenants), fmt.Sprint(prefix, i)))
	}
	w.assembly.Scheduler.SetPods(all...)
	return w.await(ctx, func() bool {
		return !slices.ContainsFunc(all, func(p *state.Pod) bool { return !strings.HasPrefix(w.judged[p.UID], "node-") })
	})
}

func newPod(namespace, name string) *state.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}}}}
	return state.NewPod(p)
}

// await waits for something to be judged.
func (w *world) await(ctx context.Context, holds func() bool) error {
	for {
		w.mu.Lock()
		ok := holds()
		w.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.news:
		}
	}
}

// remove takes pods out of the cluster.
func (w *world) remove(prefix string, pods int) {
	for i := range pods {
		w.assembly.Scheduler.DeletePod(types.UID(fmt.Sprint(prefix, i)))
	}
}

// Objects implements follow.Source.
func (w *world) Objects() *tenancy.Objects {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.objects
	o.TenantPlugins, o.Namespaces = slices.Clone(o.TenantPlugins), make(map[string]map[string]string)
	for _, p := range o.TenantPlugins {
		o.Namespaces[p.Namespace] = nil // without labels
	}
	return &o
}

// Changed implements follow.Source.
func (w *world) Changed() <-chan struct{} { return w.changed }

// AttachedPlugins implements follow.Source. Pods are made when their plugins run.
func (*world) AttachedPlugins() func() { return func() {} }

// PluginConfig implements follow.Source. No object has its configuration omitted.
func (*world) PluginConfig(_ context.Context, p *v1alpha1.TenantPlugin) (*v1alpha1.Config, error) {
	return p.Spec.Config, nil
}

// WritePluginStatus implements follow.Writer. Nothing reports.
func (*world) WritePluginStatus(context.Context, string, types.NamespacedName, types.UID, string, any) error {
	return nil
}

// TellOfPlugin implements follow.Writer.
func (*world) TellOfPlugin(string, types.NamespacedName, types.UID, bool, string, string) {}

// Bind implements objects.Binder.
func (w *world) Bind(_ context.Context, b objects.Binding) error {
	w.assembly.Scheduler.SetPods(b.Pod)
	return nil
}

// Attempted implements scheduler.Observer.
func (w *world) Attempted(a *report.Attempt, _ func(uint32) string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempted(a.UID, a.Duration)
	if w.judged[a.UID] = a.Node; a.Node == "" {
		w.judged[a.UID] = a.Message
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// Ended implements scheduler.Observer.
func (*world) Ended(*report.Ending) {}

// Binding implements scheduler.Outlet, as the following do.
func (*world) Binding(context.Context, *state.Pod) error { return nil }

// Scheduled is called for a pod that was placed.
func (*world) Scheduled(*state.Pod, string, state.Feature) {}

// Failed is told of a pod that was not.
func (*world) Failed(scheduler.Failure) {}

// Preempted is called for an eviction.
func (*world) Preempted(scheduler.Preempted) {}

// NominationCleared is told of a pod.
func (*world) NominationCleared(*state.Pod) {}
