package kube

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-scheduler/berth/hostplugins/bridge"
)

// watches are the informers of the cluster.
type watches struct {
	cluster *Cluster
	factory informers.SharedInformerFactory
	pods    cache.SharedIndexInformer
	nodes   cache.SharedIndexInformer
	// namespaces are also read for plugins of the API.
	namespaces cache.SharedIndexInformer
	kinds      []*kind
	others     bool               // plugins asked for more informers than kinds
	cancel     context.CancelFunc // nil before Start
	// waiting has a goroutine for each kind that cannot be watched, which ends when ended is closed.
	waiting sync.WaitGroup
	ended   <-chan struct{}
}

// kind is a watched kind of object.
type kind struct {
	name     string // plural, with its group, as kubectl has it
	informer cache.SharedIndexInformer
	handler  func(Scheduler) cache.ResourceEventHandler
	// optional is an object of a kind that an API server need not have; nil for other kinds. without says what
	// becomes of pods then.
	optional any
	without  string
	synced   cache.InformerSynced // nil before Start

	mu struct {
		sync.Mutex
		// err is of the last list or watch that failed; nil if none did since one succeeded.
		err error
		// absent is true while the API server does not have an optional kind.
		absent bool
		// failed is when err was, and logged has the losses that were logged since the kind was last watched.
		failed time.Time
		logged loss
	}
}

// newWatches creates the informers. They drop fields that no plugin can read, such as
// managedFields, which is a third of a node.
func newWatches(c *Cluster) (*watches, error) {
	f := informers.NewSharedInformerFactoryWithOptions(c.deps.Client, 0, informers.WithTransform(trim))
	w := &watches{cluster: c, factory: f}
	core, apps, storage, resource := f.Core().V1(), f.Apps().V1(), f.Storage().V1(), f.Resource().V1()
	w.pods, w.nodes, w.namespaces = f.InformerFor(&v1.Pod{}, newPodInformer), core.Nodes().Informer(), core.Namespaces().Informer()
	const pending = "pods with resource claims stay pending"
	w.kinds = []*kind{
		{name: "nodes", informer: w.nodes, handler: nodeHandler},
		{name: "namespaces", informer: w.namespaces, handler: namespaceHandler},
		{name: "persistentvolumes", informer: core.PersistentVolumes().Informer(), handler: objectHandler},
		{name: "persistentvolumeclaims", informer: core.PersistentVolumeClaims().Informer(), handler: objectHandler},
		{name: "storageclasses.storage.k8s.io", informer: storage.StorageClasses().Informer(), handler: objectHandler},
		{name: "csinodes.storage.k8s.io", informer: storage.CSINodes().Informer(), handler: objectHandler},
		{name: "csidrivers.storage.k8s.io", informer: storage.CSIDrivers().Informer(), handler: objectHandler},
		{name: "csistoragecapacities.storage.k8s.io", informer: storage.CSIStorageCapacities().Informer(), handler: objectHandler},
		{name: "volumeattachments.storage.k8s.io", informer: storage.VolumeAttachments().Informer(), handler: objectHandler},
		{name: "resourceclaims.resource.k8s.io", informer: resource.ResourceClaims().Informer(), handler: objectHandler, optional: &resourcev1.ResourceClaim{}, without: pending},
		{name: "resourceslices.resource.k8s.io", informer: resource.ResourceSlices().Informer(), handler: objectHandler, optional: &resourcev1.ResourceSlice{}, without: pending},
		{name: "deviceclasses.resource.k8s.io", informer: resource.DeviceClasses().Informer(), handler: objectHandler, optional: &resourcev1.DeviceClass{}, without: pending},
		{name: "devicetaintrules.resource.k8s.io", informer: resource.DeviceTaintRules().Informer(), handler: objectHandler, optional: &resourcev1.DeviceTaintRule{},
			without: "no rule taints devices"},
		{name: "services", informer: core.Services().Informer(), handler: objectHandler},
		{name: "replicationcontrollers", informer: core.ReplicationControllers().Informer(), handler: objectHandler},
		{name: "replicasets.apps", informer: apps.ReplicaSets().Informer(), handler: objectHandler},
		{name: "statefulsets.apps", informer: apps.StatefulSets().Informer(), handler: objectHandler},
		{name: "poddisruptionbudgets.policy", informer: f.Policy().V1().PodDisruptionBudgets().Informer(), handler: objectHandler},
		{name: "pods", informer: w.pods, handler: c.podHandler},
	}
	for _, k := range w.kinds {
		if err := k.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { w.failed(k, err) }); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// newPodInformer skips terminated pods, which hold no resources.
func newPodInformer(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
	running := fields.AndSelectors(
		fields.OneTermNotEqualSelector("status.phase", string(v1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(v1.PodFailed)),
	).String()
	return coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, resync, cache.Indexers{},
		func(o *metav1.ListOptions) { o.FieldSelector = running })
}

// Start watches the cluster and delivers events to the scheduler, until Close.
func (c *Cluster) Start(s Scheduler) error {
	w := c.watches
	if w.cancel != nil {
		return errors.New("BUG: kube: Start is called twice")
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, ctx.Done()
	c.claims.start(s)
	for _, k := range w.kinds {
		registration, err := k.informer.AddEventHandler(guardedHandler{k.handler(s), c, s})
		if err != nil {
			return fmt.Errorf("watch %s: %w", k.name, err)
		}
		k.synced = registration.HasSynced
	}
	if err := c.plugins.start(ctx); err != nil {
		return fmt.Errorf("watch berth.dev: %w", err)
	}
	w.factory.StartWithContext(ctx)
	w.others = len(w.unlisted()) > len(w.kinds)
	return nil
}

// Framework returns what plugins of kube-scheduler's framework see in a profile. They share the informers of the
// cluster, so managedFields and the pod templates of owners are missing in objects; informers that they ask for before
// Start are started with the others, and Await waits for them.
func (c *Cluster) Framework(profile string) bridge.Deps {
	return bridge.Deps{
		ClientSet: c.deps.Client, KubeConfig: c.deps.KubeConfig, Informers: c.watches.factory, EventRecorder: c.events.recorders[profile],
	}
}

// unlisted tells of each informer that was started whether it still waits for its first list.
func (w *watches) unlisted() map[reflect.Type]bool {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	out := make(map[reflect.Type]bool)
	for kind, synced := range w.factory.WaitForCacheSyncWithContext(now).Synced {
		out[kind] = !synced
	}
	return out
}

// stop stops the watches.
func (w *watches) stop() {
	if w.cancel != nil {
		w.cancel()
		w.factory.Shutdown()
		w.waiting.Wait()
		w.cluster.plugins.group.Wait()
	}
}

// Synced returns nil if the scheduler has received all existing objects, otherwise an error
// that names the missing kinds and why. Optional kinds that the API server does not have are not
// missing.
func (c *Cluster) Synced() error {
	var errs []error
	absent := make(map[reflect.Type]bool)
	for _, k := range c.watches.kinds {
		if k.synced != nil && k.synced() {
			continue
		}
		k.mu.Lock()
		err, none := k.mu.err, k.mu.absent
		k.mu.Unlock()
		if none {
			absent[reflect.TypeOf(k.optional)] = true
			continue
		}
		if err == nil {
			err = errors.New("not listed yet")
		}
		errs = append(errs, fmt.Errorf("%s: %w", k.name, err))
	}
	if err := c.plugins.synced(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 && c.watches.others {
		for kind, waits := range c.watches.unlisted() {
			if waits && !absent[kind] {
				errs = append(errs, fmt.Errorf("%v, which a plugin asked for: not listed yet (the scheduler's user needs list and watch on it)", kind))
			}
		}
	}
	return errors.Join(errs...)
}

// Kinds returns the watched kinds of objects, sorted, as kubectl names them.
func (c *Cluster) Kinds() []string {
	var out []string
	for _, k := range c.watches.kinds {
		out = append(out, k.name)
	}
	slices.Sort(out)
	return out
}
