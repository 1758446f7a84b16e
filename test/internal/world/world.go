// Package world builds both sides' view of a scenario's cluster: Berth's cache and snapshot,
// and the informers that kube-scheduler's plugins read. Nothing runs in it; informers are never
// started, their stores are filled directly.
package world

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// World is the cluster.
type World struct {
	Cache    *cache.Cache
	Snapshot *state.Snapshot
	// Informers have the objects in their stores.
	Informers informers.SharedInformerFactory
	// Storage has the objects of storage.
	Storage *storage.Store

	nodes map[string]*v1.Node
	order []string // of nodes, in the order in which they were added
	pods  map[scenario.Ref]*state.Pod
}

// New returns an empty world.
func New() *World {
	return &World{
		Cache: cache.New(cache.Config{}), Snapshot: state.NewSnapshot(),
		Informers: informers.NewSharedInformerFactory(nil, 0), Storage: storage.New(),
		nodes: make(map[string]*v1.Node), pods: make(map[scenario.Ref]*state.Pod),
	}
}

// Apply applies the changes of a step and updates the snapshot.
func (w *World) Apply(step *scenario.Step) error {
	for _, ref := range step.Delete {
		w.remove(ref)
	}
	var err error
	step.Set.Each(func(kind string, object metav1.Object) {
		if err == nil {
			err = w.set(kind, object)
		}
	})
	w.Cache.UpdateSnapshot(w.Snapshot)
	return err
}

func (w *World) set(kind string, object metav1.Object) error {
	store := w.store(kind)
	if store == nil {
		return fmt.Errorf("a scenario cannot have objects of kind %s", kind)
	}
	switch o := object.(type) {
	case *v1.Node:
		if w.nodes[o.Name] == nil {
			w.order = append(w.order, o.Name)
		}
		w.nodes[o.Name] = o
		w.Cache.AddNode(state.NewNode(o))
	case *v1.Namespace:
		w.Cache.AddNamespace(state.NewNamespace(o))
	case *v1.Pod:
		if err := w.setPod(o); err != nil {
			return err
		}
	case *v1.PersistentVolumeClaim, *v1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSINode, *storagev1.CSIDriver,
		*storagev1.CSIStorageCapacity, *storagev1.VolumeAttachment:
		w.Storage.Set(object)
	}
	return store.Update(object)
}

func (w *World) setPod(o *v1.Pod) error {
	ref, pod := scenario.RefOf(scenario.KindPod, o), state.NewPod(o)
	old := w.pods[ref]
	w.pods[ref] = pod
	if old == nil {
		_, err := w.Cache.AddPod(pod)
		return err
	}
	if old.UID != pod.UID {
		w.Cache.RemovePod(old.UID)
		_, err := w.Cache.AddPod(pod)
		return err
	}
	_, err := w.Cache.UpdatePod(old, pod)
	return err
}

func (w *World) remove(ref scenario.Ref) {
	kind, namespace, name := ref.Split()
	switch kind {
	case scenario.KindNode:
		w.Cache.RemoveNode(name)
		delete(w.nodes, name)
		for i, n := range w.order {
			if n == name {
				w.order = append(w.order[:i:i], w.order[i+1:]...)
				break
			}
		}
	case scenario.KindNamespace:
		w.Cache.RemoveNamespace(name)
	case scenario.KindPod:
		if pod := w.pods[ref]; pod != nil {
			w.Cache.RemovePod(pod.UID)
			delete(w.pods, ref)
		}
	}
	store, key := w.store(kind), name
	if store == nil {
		return
	}
	if namespace != "" {
		key = namespace + "/" + name
	}
	if object, ok, _ := store.GetByKey(key); ok {
		switch object.(type) {
		case *v1.PersistentVolumeClaim, *v1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSINode, *storagev1.CSIDriver,
			*storagev1.CSIStorageCapacity, *storagev1.VolumeAttachment:
			w.Storage.Delete(object.(metav1.Object))
		}
		_ = store.Delete(object) // a store's delete fails only for an invalid key
	}
}

// Pod returns a placed pod, nil if there is none of that name.
func (w *World) Pod(ref scenario.Ref) *state.Pod { return w.pods[ref] }

// PodByUID returns a placed pod, nil if there is none.
func (w *World) PodByUID(uid types.UID) *state.Pod {
	pod, _ := w.Cache.Get(uid)
	return pod
}

// Objects returns the nodes in the order in which they came, and the placed pods
// of each, ghosts left out.
func (w *World) Objects() (nodes []*v1.Node, pods []*v1.Pod) {
	for _, name := range w.order {
		nodes = append(nodes, w.nodes[name])
	}
	for pod := range w.Cache.Pods() {
		pods = append(pods, pod.Object)
	}
	return nodes, pods
}

// store returns the store of a kind's informer.
func (w *World) store(kind string) clientcache.Indexer {
	core, apps, storage := w.Informers.Core().V1(), w.Informers.Apps().V1(), w.Informers.Storage().V1()
	var informer clientcache.SharedIndexInformer
	switch kind {
	case scenario.KindNode:
		informer = core.Nodes().Informer()
	case scenario.KindNamespace:
		informer = core.Namespaces().Informer()
	case scenario.KindPod:
		informer = core.Pods().Informer()
	case scenario.KindService:
		informer = core.Services().Informer()
	case scenario.KindReplicationController:
		informer = core.ReplicationControllers().Informer()
	case scenario.KindReplicaSet:
		informer = apps.ReplicaSets().Informer()
	case scenario.KindStatefulSet:
		informer = apps.StatefulSets().Informer()
	case scenario.KindPersistentVolume:
		informer = core.PersistentVolumes().Informer()
	case scenario.KindPersistentVolumeClaim:
		informer = core.PersistentVolumeClaims().Informer()
	case scenario.KindStorageClass:
		informer = storage.StorageClasses().Informer()
	case scenario.KindCSINode:
		informer = storage.CSINodes().Informer()
	case scenario.KindCSIDriver:
		informer = storage.CSIDrivers().Informer()
	case scenario.KindCSIStorageCapacity:
		informer = storage.CSIStorageCapacities().Informer()
	case scenario.KindVolumeAttachment:
		informer = storage.VolumeAttachments().Informer()
	case scenario.KindPodDisruptionBudget:
		informer = w.Informers.Policy().V1().PodDisruptionBudgets().Informer()
	default:
		return nil
	}
	return informer.GetIndexer()
}
