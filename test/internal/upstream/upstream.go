// Package upstream hosts kube-scheduler's own plugins, of k8s.io/kubernetes v1.37, and reads
// its configuration as it does. Feature gates are those of the release, unless a command sets
// some before anything else: they are global to the process.
package upstream

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// SetGates sets feature gates, as in "TaintTolerationComparisonOperators=true".
func SetGates(gates string) error { return feature.DefaultMutableFeatureGate.Set(gates) }

// Names returns the names of kube-scheduler's plugins.
func Names() map[string]bool {
	names := make(map[string]bool)
	for name := range plugins.NewInTreeRegistry() {
		names[name] = true
	}
	return names
}

// Defaults returns the names of the plugins of kube-scheduler's default profile,
// in its order.
func Defaults() []string {
	var names []string
	c, err := Load(nil)
	if err != nil {
		panic(fmt.Sprintf("BUG: kube-scheduler refuses its own defaults: %v", err))
	}
	for _, p := range c.Profiles[0].Plugins.MultiPoint.Enabled {
		names = append(names, p.Name)
	}
	return names
}

// Load reads a configuration as kube-scheduler does: decoded strictly, with
// defaults, and validated. Empty data is no file.
func Load(data []byte) (*config.KubeSchedulerConfiguration, error) {
	metrics.Register() // effective only once per process
	if len(data) == 0 {
		return latest.Default()
	}
	object, kind, err := scheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	c, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("decode: a %s is not a configuration of the scheduler", kind)
	}
	c.APIVersion = kind.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(c); err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	return c, nil
}

// Args returns the args of a plugin in the first profile; nil if it has none.
func Args(c *config.KubeSchedulerConfiguration, name string) runtime.Object {
	for _, p := range c.Profiles[0].PluginConfig {
		if p.Name == name {
			return p.Args
		}
	}
	return nil
}

// Hosted is one of kube-scheduler's plugins in the bridge.
type Hosted struct {
	*bridge.Plugin
	watcher *bridge.Plugin
	handle  framework.Handle
}

// NodeInfos returns the nodes as the bridge presents them to the plugin in a cycle.
func (h *Hosted) NodeInfos(c *plugin.Cycle) framework.NodeInfoLister {
	h.watcher.PreFilter(c) // starts a cycle
	return h.handle.SnapshotSharedLister().NodeInfos()
}

// watcher is a plugin that is called only at the start of a cycle.
type watcher struct{}

// Name implements framework.Plugin.
func (watcher) Name() string { return "Watcher" }

// PreFilter implements framework.PreFilterPlugin.
func (watcher) PreFilter(context.Context, framework.CycleState, *v1.Pod, []framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	return nil, nil
}

// PreFilterExtensions implements framework.PreFilterPlugin.
func (watcher) PreFilterExtensions() framework.PreFilterExtensions { return nil }

// Host runs one of kube-scheduler's plugins over a world, through the bridge.
// client (optional) is for plugins that write.
func Host(ctx context.Context, w *world.World, name string, configuration []byte, client kubernetes.Interface) (*Hosted, error) {
	c, err := Load(configuration)
	if err != nil {
		return nil, err
	}
	factory, ok := plugins.NewInTreeRegistry()[name]
	if !ok {
		return nil, fmt.Errorf("kube-scheduler has no plugin %q", name)
	}
	b, err := newBridge(ctx, w, c, client)
	if err != nil {
		return nil, err
	}
	out := &Hosted{}
	if out.Plugin, err = b.Host(ctx, bridge.Source{Name: name, Factory: factory}, Args(c, name)); err != nil {
		return nil, err
	}
	out.watcher, err = b.Host(ctx, bridge.Source{Name: watcher{}.Name(), Factory: func(_ context.Context, _ runtime.Object, h framework.Handle) (framework.Plugin, error) {
		out.handle = h
		return watcher{}, nil
	}}, nil)
	return out, err
}

// Registry returns factories of kube-scheduler's plugins over a world, all in one bridge, as in
// a scheduler that uses them. They have the args of the configuration's first profile, whatever
// args they are given.
func Registry(ctx context.Context, w *world.World, configuration []byte) (plugin.Registry, error) {
	c, err := Load(configuration)
	if err != nil {
		return nil, err
	}
	b, err := newBridge(ctx, w, c, nil)
	if err != nil {
		return nil, err
	}
	out := make(plugin.Registry)
	for name, factory := range plugins.NewInTreeRegistry() {
		out[name] = func(any) (plugin.Plugin, error) {
			return b.Host(ctx, bridge.Source{Name: name, Factory: factory}, Args(c, name))
		}
	}
	return out, nil
}

func newBridge(ctx context.Context, w *world.World, c *config.KubeSchedulerConfiguration, client kubernetes.Interface) (*bridge.Bridge, error) {
	dra, err := NewDRAManager(ctx, w.Informers)
	if err != nil {
		return nil, err
	}
	return bridge.New(bridge.Config{Profile: c.Profiles[0].SchedulerName, Parallelism: 1}, bridge.Deps{
		ClientSet: client, Informers: w.Informers, DRA: dra,
		CSI: nodevolumelimits.NewCSIManager(w.Informers.Storage().V1().CSINodes().Lister()),
	}), nil
}

// NewDRAManager returns kube-scheduler's manager of dynamic resources, over empty stores.
func NewDRAManager(ctx context.Context, factory informers.SharedInformerFactory) (framework.SharedDRAManager, error) {
	if !feature.DefaultFeatureGate.Enabled(features.DynamicResourceAllocation) {
		return nil, nil
	}
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: factory.Resource().V1().ResourceSlices()})
	if err != nil {
		return nil, fmt.Errorf("dynamic resources: %w", err)
	}
	return dynamicresources.NewDRAManager(ctx, claims, slices, factory), nil
}
