package devices

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	upstreamdevices "k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/hostplugins/dynamicresources"
	"github.com/berth-scheduler/berth/hostplugins/noderesources"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/test/internal/upstream"
)

// points are the points that both plugins have.
type points interface {
	plugin.PreEnqueue
	plugin.PreFilter
	plugin.Filter
	plugin.PostFilter
	plugin.Score
	plugin.Normalize
	plugin.Reserve
	plugin.PreBind
}

// resources are the points of the plugins for node resources that devices matter to.
type resources interface {
	plugin.PreFilter
	plugin.Filter
	plugin.PreScore
	plugin.Score
}

// scorer is the points of Balanced.
type scorer interface {
	plugin.PreScore
	plugin.Score
}

// side is one of the two plugins with its API server, and the plugins for node resources.
type side struct {
	plugin   points
	fit      resources
	balanced scorer
	api      *api
	work     func() dynamicresources.Work // Berth's
	// slice, class and rule tell the plugin of an object; gone ones are deleted.
	slice func(s *resourcev1.ResourceSlice, gone bool)
	class func(c *resourcev1.DeviceClass, gone bool)
	rule  func(r *resourcev1.DeviceTaintRule, gone bool)
}

// What the plugins for node resources score. Kube-scheduler's Balanced ends the process if it counts devices of a
// class with selectors.
const (
	gpuResource  v1.ResourceName = "example.com/gpu"
	freeResource                 = v1.ResourceName(resourcev1.ResourceDeviceClassPrefix + "free")
	anyResource                  = v1.ResourceName(resourcev1.ResourceDeviceClassPrefix + "any")
	// These are no class's.
	otherResource   v1.ResourceName = "example.com/other"
	unknownResource                 = v1.ResourceName(resourcev1.ResourceDeviceClassPrefix + "unknown")
)

// nodes is the cluster's snapshot, which both sides see.
type nodes struct {
	cache    *cache.Cache
	snapshot *state.Snapshot
}

func newNodes(list []*v1.Node) *nodes {
	n := &nodes{cache: cache.New(cache.Config{}), snapshot: state.NewSnapshot()}
	for _, node := range list {
		n.cache.AddNode(state.NewNode(node))
	}
	n.cache.UpdateSnapshot(n.snapshot)
	return n
}

// unbounded implements objects.Search.
type unbounded struct{}

func (unbounded) Within(ctx context.Context, _ string, _ time.Duration, search func(ctx context.Context) error) error {
	return search(ctx)
}

// impatient implements objects.StorageWaiter: it looks once, and then the time is over.
type impatient struct{}

func (impatient) Await(_ context.Context, _ time.Duration, done func() (bool, error)) error {
	if ok, err := done(); ok || err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// ours returns Berth's plugin.
func ours() (*side, error) {
	store := storage.New()
	a := newAPI(func(was, now *resourcev1.ResourceClaim) {
		if now == nil {
			store.Delete(was)
		} else {
			store.Set(now)
		}
	})
	ledger := dynamicresources.NewLedger(store.Devices())
	p, err := dynamicresources.New(nil, dynamicresources.Deps{
		Devices: store.Devices(), Ledger: ledger, Writer: writer{a}, Waiter: impatient{},
		Search: unbounded{}, Now: time.Now, Wall: time.Now, //nolint:forbidigo // kube-scheduler's plugin reads the machine's clock, too
	})
	if err != nil {
		return nil, err
	}
	fit, err := noderesources.NewFit(&configv1.NodeResourcesFitArgs{ScoringStrategy: &configv1.ScoringStrategy{
		Type: configv1.MostAllocated, Resources: []configv1.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: string(gpuResource), Weight: 3}, {Name: string(anyResource), Weight: 2}},
	}}, ledger)
	if err != nil {
		return nil, err
	}
	balanced, err := noderesources.NewBalanced(&configv1.NodeResourcesBalancedAllocationArgs{
		Resources: []configv1.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: string(freeResource), Weight: 1}},
	}, ledger)
	if err != nil {
		return nil, err
	}
	put := func(object metav1.Object, gone bool) {
		if gone {
			store.Delete(object)
		} else {
			store.Set(object)
		}
	}
	return &side{
		plugin: p, fit: fit, balanced: balanced, api: a, work: ledger.Work,
		slice: func(s *resourcev1.ResourceSlice, gone bool) { put(s, gone) },
		class: func(c *resourcev1.DeviceClass, gone bool) { put(c, gone) },
		rule:  func(r *resourcev1.DeviceTaintRule, gone bool) { put(r, gone) },
	}, nil
}

func newAPI(watch func(was, now *resourcev1.ResourceClaim)) *api {
	return &api{claims: make(map[key]*resourcev1.ResourceClaim), told: make(map[string]string), watch: watch}
}

// manual is an informer that the test drives.
type manual struct {
	handler clientcache.ResourceEventHandler
}

func (m *manual) AddEventHandler(h clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	m.handler = h
	return nil, nil
}

// driven is an informer that does not run: the test puts objects into its store and tells its handlers.
type driven struct {
	clientcache.SharedIndexInformer
	handlers []clientcache.ResourceEventHandler
}

func (d *driven) AddEventHandlerWithOptions(
	h clientcache.ResourceEventHandler, options clientcache.HandlerOptions,
) (clientcache.ResourceEventHandlerRegistration, error) {
	d.handlers = append(d.handlers, h)
	return d.SharedIndexInformer.AddEventHandlerWithOptions(h, options)
}

// put stores an object, or deletes it if it is there.
func (d *driven) put(object any, gone bool) {
	store := d.GetIndexer()
	was, known, err := store.Get(object)
	switch {
	case err != nil || gone && !known:
	case gone:
		err = store.Delete(object)
	default:
		err = store.Update(object)
	}
	if err != nil {
		panic(fmt.Sprintf("BUG: a store refuses an object: %v", err))
	}
	for _, h := range d.handlers {
		switch {
		case !gone && known:
			h.OnUpdate(was, object)
		case !gone:
			h.OnAdd(object, false)
		case known:
			h.OnDelete(was)
		}
	}
}

// drivenSlices and drivenRules are driven informers for kube-scheduler's tracker of slices.
type drivenSlices struct {
	resourceinformers.TypedResourceSliceInformer
	of *driven
}

func (s drivenSlices) TypedInformer() resourceinformers.ResourceSliceIndexInformer {
	return resourceinformers.ToResourceSliceIndexInformer(s.of)
}

type drivenRules struct {
	resourceinformers.TypedDeviceTaintRuleInformer
	of *driven
}

func (s drivenRules) TypedInformer() resourceinformers.DeviceTaintRuleIndexInformer {
	return resourceinformers.ToDeviceTaintRuleIndexInformer(s.of)
}

// theirs returns kube-scheduler's plugin, with its own manager of claims.
func theirs(ctx context.Context) (*side, error) {
	c, err := upstream.Load(nil)
	if err != nil {
		return nil, err
	}
	informer, factory := &manual{}, informers.NewSharedInformerFactory(nil, 0)
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), informer, "ResourceClaim", "", nil)
	of := factory.Resource().V1()
	slices, rules := drivenSlices{of.ResourceSlices(), &driven{SharedIndexInformer: of.ResourceSlices().Informer()}},
		drivenRules{of.DeviceTaintRules(), &driven{SharedIndexInformer: of.DeviceTaintRules().Informer()}}
	tracked, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules: true, EnableConsumableCapacity: true, SliceInformer: slices, TaintInformer: rules,
	})
	if err != nil {
		return nil, err
	}
	manager := upstreamdevices.NewDRAManager(ctx, claims, tracked, factory)
	a := newAPI(func(was, now *resourcev1.ResourceClaim) {
		switch {
		case was == nil:
			informer.handler.OnAdd(now, false)
		case now == nil:
			informer.handler.OnDelete(was)
		default:
			informer.handler.OnUpdate(was, now)
		}
	})
	b := bridge.New(bridge.Config{Profile: c.Profiles[0].SchedulerName, Parallelism: 1}, bridge.Deps{
		ClientSet: a.client(), Informers: factory, DRA: manager,
		CSI: nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister()),
	})
	host := func(name string, args runtime.Object) (*bridge.Plugin, error) {
		return b.Host(ctx, bridge.Source{Name: name, Factory: plugins.NewInTreeRegistry()[name]}, args)
	}
	p, err := host(dynamicresources.Name, upstream.Args(c, dynamicresources.Name))
	if err != nil {
		return nil, err
	}
	fit, err := host(noderesources.FitName, &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
		Type: config.MostAllocated, Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: string(gpuResource), Weight: 3}, {Name: string(anyResource), Weight: 2}},
	}})
	if err != nil {
		return nil, err
	}
	balanced, err := host(noderesources.BalancedName, &config.NodeResourcesBalancedAllocationArgs{
		Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: string(freeResource), Weight: 1}},
	})
	if err != nil {
		return nil, err
	}
	classes := driven{SharedIndexInformer: of.DeviceClasses().Informer()}
	return &side{
		plugin: p, fit: fit, balanced: balanced, api: a,
		slice: func(s *resourcev1.ResourceSlice, gone bool) { slices.of.put(s, gone) },
		rule:  func(r *resourcev1.DeviceTaintRule, gone bool) { rules.of.put(r, gone) },
		class: func(c *resourcev1.DeviceClass, gone bool) {
			classes.put(c, gone)
			if cache, ok := manager.DeviceClassResolver().(clientcache.ResourceEventHandler); ok && !gone {
				cache.OnAdd(c, false)
			}
		},
	}, nil
}
