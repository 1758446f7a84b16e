package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watches are the informers of the cluster.
type watches struct {
	cluster *Cluster
	factory informers.SharedInformerFactory
	pods    cache.SharedIndexInformer
	nodes   cache.SharedIndexInformer
	kinds   []*kind
	cancel  context.CancelFunc // nil before Start
}

// kind is a watched kind of object.
type kind struct {
	name     string // plural, with its group, as kubectl has it
	informer cache.SharedIndexInformer
	handler  func(Scheduler) cache.ResourceEventHandler
	synced   cache.InformerSynced // nil before Start

	mu struct {
		sync.Mutex
		err error // of the last list or watch that failed
	}
}

// newWatches makes the informers. Objects lose what no plugin can read before they
// are kept: a third of a node is managedFields.
func newWatches(c *Cluster) (*watches, error) {
	f := informers.NewSharedInformerFactoryWithOptions(c.deps.Client, 0, informers.WithTransform(trim))
	w := &watches{cluster: c, factory: f}
	core, apps, storage := f.Core().V1(), f.Apps().V1(), f.Storage().V1()
	w.pods, w.nodes = f.InformerFor(&v1.Pod{}, newPodInformer), core.Nodes().Informer()
	w.kinds = []*kind{
		{name: "nodes", informer: w.nodes, handler: nodeHandler},
		{name: "namespaces", informer: core.Namespaces().Informer(), handler: namespaceHandler},
		{name: "persistentvolumes", informer: core.PersistentVolumes().Informer(), handler: c.storageHandler},
		{name: "persistentvolumeclaims", informer: core.PersistentVolumeClaims().Informer(), handler: c.storageHandler},
		{name: "storageclasses.storage.k8s.io", informer: storage.StorageClasses().Informer(), handler: c.storageHandler},
		{name: "csinodes.storage.k8s.io", informer: storage.CSINodes().Informer(), handler: c.storageHandler},
		{name: "csidrivers.storage.k8s.io", informer: storage.CSIDrivers().Informer(), handler: c.storageHandler},
		{name: "csistoragecapacities.storage.k8s.io", informer: storage.CSIStorageCapacities().Informer(), handler: c.storageHandler},
		{name: "volumeattachments.storage.k8s.io", informer: storage.VolumeAttachments().Informer(), handler: c.storageHandler},
		{name: "services", informer: core.Services().Informer(), handler: c.ownersHandler},
		{name: "replicationcontrollers", informer: core.ReplicationControllers().Informer(), handler: c.ownersHandler},
		{name: "replicasets.apps", informer: apps.ReplicaSets().Informer(), handler: c.ownersHandler},
		{name: "statefulsets.apps", informer: apps.StatefulSets().Informer(), handler: c.ownersHandler},
		{name: "poddisruptionbudgets.policy", informer: f.Policy().V1().PodDisruptionBudgets().Informer(), handler: c.budgetsHandler},
		{name: "pods", informer: w.pods, handler: c.podHandler},
	}
	for _, k := range w.kinds {
		if err := k.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { w.failed(k, err) }); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// newPodInformer leaves out pods that have ended, which hold nothing any more.
func newPodInformer(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
	running := fields.AndSelectors(
		fields.OneTermNotEqualSelector("status.phase", string(v1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(v1.PodFailed)),
	).String()
	return coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, resync, cache.Indexers{},
		func(o *metav1.ListOptions) { o.FieldSelector = running })
}

// Start begins to watch the cluster and to tell the scheduler of it, until Close.
func (c *Cluster) Start(s Scheduler) error {
	w := c.watches
	if w.cancel != nil {
		return errors.New("BUG: kube: Start is called twice")
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	for _, k := range w.kinds {
		registration, err := k.informer.AddEventHandler(k.handler(s))
		if err != nil {
			return fmt.Errorf("watch %s: %w", k.name, err)
		}
		k.synced = registration.HasSynced
	}
	w.factory.StartWithContext(ctx)
	return nil
}

// stop ends the watches.
func (w *watches) stop() {
	if w.cancel != nil {
		w.cancel()
		w.factory.Shutdown()
	}
}

// Synced returns nil if the scheduler was told of all that there is, otherwise an
// error that names the kinds of object of which it was not, and why.
func (c *Cluster) Synced() error {
	var errs []error
	for _, k := range c.watches.kinds {
		if k.synced != nil && k.synced() {
			continue
		}
		k.mu.Lock()
		err := k.mu.err
		k.mu.Unlock()
		if err == nil {
			err = errors.New("not listed yet")
		}
		errs = append(errs, fmt.Errorf("%s: %w", k.name, err))
	}
	return errors.Join(errs...)
}

// Kinds returns the kinds of object that are watched, sorted, as kubectl names them.
func (c *Cluster) Kinds() []string {
	var out []string
	for _, k := range c.watches.kinds {
		out = append(out, k.name)
	}
	slices.Sort(out)
	return out
}

// failed takes note of a list or watch that failed. The informer tries again by
// itself, ever more slowly. That a watch ends, or is too old to go on, is how watches
// are.
func (w *watches) failed(k *kind, err error) {
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || utilnet.IsProbableEOF(err):
		return
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w (the scheduler's user needs list and watch on %s)", err, k.name)
	}
	k.mu.Lock()
	known := k.mu.err != nil && k.mu.err.Error() == err.Error()
	k.mu.err = err
	k.mu.Unlock()
	if !known && !errors.Is(err, ErrLeaseLost) && !w.cluster.deps.Reach.Says(err) { // without the lease this replica is about to end
		w.cluster.log.Error("cannot watch the cluster; it is tried again", "resource", k.name, "error", err)
	}
}
