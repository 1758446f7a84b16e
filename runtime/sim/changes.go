package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Change is something that others do to the cluster.
type Change struct {
	// At is the time since the start. What happens at the same time as an arrival comes before it.
	At time.Duration
	// Event is about a node, a namespace, feeds, pods, or an object. Pods are new ones on nodes, or new versions
	// of pods: what the scheduler wrote on them stays. The pods of a node that goes leave with it.
	Event inbox.Event
	// Plugins (instead of Event) returns a configuration whose profiles and attached plugins replace those of the scheduler.
	Plugins func() (assembly.Config, error)
}

// happen carries out the changes whose time has come.
func (s *Sim) happen(ctx context.Context) error {
	for now := s.api.now(); s.changed < len(s.config.Changes) && s.config.Changes[s.changed].At <= now; s.changed++ {
		c := &s.config.Changes[s.changed]
		if c.Plugins == nil {
			s.api.changed(c.Event)
			continue
		}
		if err := s.reload(ctx, c); err != nil {
			return fmt.Errorf("%v after the start, plugins cannot be replaced: %w", c.At, err)
		}
	}
	return nil
}

// reload replaces the plugins of the scheduler.
func (s *Sim) reload(ctx context.Context, c *Change) error {
	next, err := c.Plugins()
	if err == nil {
		err = s.assembly.ReloadAll(ctx, next.Scheduler, next.Attached)
	}
	s.api.changes++
	s.refuse()
	return err
}

// changed carries out a change.
func (w *apiServer) changed(e inbox.Event) {
	w.changes++
	switch e := e.(type) {
	case *inbox.Node:
		w.usage.set(e.Node)
		w.volumes.nodes[e.Node.Name] = e.Node.Object
		w.scheduler.SetNode(e.Node)
	case *inbox.NodeGone:
		w.withoutNode(e.Name)
	case *inbox.Namespace:
		w.scheduler.SetNamespace(e.Namespace)
	case *inbox.NamespaceGone:
		w.scheduler.DeleteNamespace(e.Name)
	case *inbox.Feeds:
		w.scheduler.SetFeeds(e.Changed)
	case *inbox.Pods:
		for _, pod := range e.Pods {
			if p := w.byUID[pod.UID]; p == nil {
				w.bindInitial(pod)
			} else if !p.gone() {
				w.revise(p, pod.Object)
			}
		}
	case *inbox.PodGone:
		if p := w.byUID[e.UID]; p != nil && !p.gone() {
			w.leaves(p, w.clock.Now())
		}
	case *inbox.Object:
		w.object(e.Object, false)
	case *inbox.ObjectGone:
		w.object(e.Object, true)
	default:
		panic(fmt.Sprintf("BUG: a %T does not change a cluster", e))
	}
}

// withoutNode removes a node with its pods.
func (w *apiServer) withoutNode(name string) {
	var pods []*simPod
	for _, p := range w.byUID {
		if p.node == name && !p.gone() {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *simPod) int { return strings.Compare(string(a.pod.UID), string(b.pod.UID)) })
	for _, p := range pods {
		w.leaves(p, w.clock.Now())
	}
	w.usage.forget(name)
	delete(w.volumes.nodes, name)
	w.scheduler.DeleteNode(name)
}

// revise stores what others wrote on a pod. What the scheduler wrote stays.
func (w *apiServer) revise(p *simPod, object *v1.Pod) {
	now, next := p.pod.Object, object.DeepCopy()
	next.ResourceVersion, next.DeletionTimestamp = "", now.DeletionTimestamp
	next.Status.Conditions, next.Status.NominatedNodeName = now.Status.Conditions, now.Status.NominatedNodeName
	pod := state.NewPod(next)
	if p.node != "" {
		pod = pod.On(p.node, p.patch)
		w.usage.remove(p.pod)
		w.usage.add(pod)
	}
	p.pod = pod
	if !slices.Contains(w.resting, p) {
		w.scheduler.SetPods(p.pod)
	}
}

// object stores or removes an object that is neither a pod nor a node nor a namespace.
func (w *apiServer) object(object metav1.Object, gone bool) {
	switch x := object.(type) {
	case *v1.Service, *v1.ReplicationController, *appsv1.ReplicaSet, *appsv1.StatefulSet:
		if gone {
			w.owners.Remove(x)
		} else {
			w.owners.Set(x)
		}
	case *policyv1.PodDisruptionBudget:
		w.budgets.replace(x, gone, w.byUID)
	default:
		if gone {
			w.volumes.goes(x)
		} else {
			w.volumes.comes(x)
		}
	}
}

// Change implements scheduler.Objects.
func (w *apiServer) Change(object metav1.Object, _ bool) (state.ClusterEvent, state.Object, bool) {
	panic(fmt.Sprintf("BUG: a %T of a simulation enters the loop", object))
}

// Written implements scheduler.Objects.
func (w *apiServer) Written(claim *resourcev1.ResourceClaim) (state.ClusterEvent, state.Object, bool) {
	panic(fmt.Sprintf("BUG: a %T of a simulation enters the loop", claim))
}

// All implements scheduler.Objects.
func (w *apiServer) All() []metav1.Object {
	out := slices.Concat(w.volumes.store.All(), w.owners.All())
	for _, b := range w.budgets.list {
		out = append(out, b)
	}
	return out
}

// replace puts a budget in the place of the one of its name, or removes it.
func (b *budgets) replace(object *policyv1.PodDisruptionBudget, gone bool, pods map[types.UID]*simPod) {
	same := func(x *policyv1.PodDisruptionBudget) bool {
		return x.Namespace == object.Namespace && x.Name == object.Name
	}
	b.all = slices.DeleteFunc(b.all, func(x *budget) bool { return same(x.object) })
	b.list = slices.DeleteFunc(slices.Clone(b.list), same)
	b.changes = -1
	if gone {
		return
	}
	added := newBudgets([]*policyv1.PodDisruptionBudget{object})
	for _, p := range pods {
		if !p.left {
			added.admit(p)
		}
	}
	b.all, b.list = append(b.all, added.all...), append(b.list, added.list...)
}

// comes stores an object that others made or changed, and does what the controllers would do.
func (v *volumes) comes(object metav1.Object) {
	object = object.(runtime.Object).DeepCopyObject().(metav1.Object) // the store gives it a version
	switch x := object.(type) {
	case *v1.PersistentVolumeClaim:
		if v.store.Claim(x.Namespace, x.Name) == nil {
			v.claims = append(v.claims, types.NamespacedName{Namespace: x.Namespace, Name: x.Name})
		}
	case *v1.PersistentVolume:
		if x.Spec.ClaimRef == nil && (x.Status.Phase == "" || x.Status.Phase == v1.VolumePending) {
			x.Status.Phase = v1.VolumeAvailable
		}
	case *resourcev1.ResourceClaim:
		if now := v.store.ResourceClaim(x.Namespace, x.Name); now != nil {
			x.Status, x.Finalizers = now.Status, now.Finalizers // what the scheduler wrote
		}
	case *storagev1.StorageClass:
		v.classes = append(slices.DeleteFunc(v.classes, func(c *storagev1.StorageClass) bool { return c.Name == x.Name }), x)
	}
	v.write(object)
	for _, name := range v.claims {
		v.settle(name)
	}
}

// goes removes an object that others deleted.
func (v *volumes) goes(object metav1.Object) {
	switch x := object.(type) {
	case *v1.PersistentVolumeClaim:
		v.claims = slices.DeleteFunc(v.claims, func(name types.NamespacedName) bool { return name.Namespace == x.Namespace && name.Name == x.Name })
	case *storagev1.StorageClass:
		v.classes = slices.DeleteFunc(v.classes, func(c *storagev1.StorageClass) bool { return c.Name == x.Name })
	}
	if change, ok := v.store.Delete(object); ok {
		v.tell.Event(change.Event, change.Object)
	}
}
