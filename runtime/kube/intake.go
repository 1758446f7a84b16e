package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Scheduler receives the cluster's events: a *scheduler.Scheduler.
type Scheduler interface {
	SetPods(pods ...*state.Pod)
	DeletePod(uid types.UID)
	SetNode(node *state.Node)
	DeleteNode(name string)
	SetNamespace(namespace *state.Namespace)
	DeleteNamespace(name string)
	SetObject(object metav1.Object)
	DeleteObject(object metav1.Object)
	Written(claim *resourcev1.ResourceClaim)
	Activate(uids ...types.UID)
}

// trim drops fields that neither the scheduler nor a plugin reads.
func trim(object any) (any, error) {
	if m, err := meta.Accessor(object); err == nil {
		m.SetManagedFields(nil)
	}
	switch x := object.(type) {
	case *appsv1.ReplicaSet:
		x.Spec.Template = v1.PodTemplateSpec{}
	case *appsv1.StatefulSet:
		x.Spec.Template, x.Spec.VolumeClaimTemplates = v1.PodTemplateSpec{}, nil
	case *v1.ReplicationController:
		x.Spec.Template = nil
	}
	return object, nil
}

// handle returns a handler of events. If an object was deleted and recreated unseen, the
// handler gets an update.
func handle[T metav1.Object](set func(old, now T), gone func(T)) cache.ResourceEventHandler {
	var none T
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { set(none, object.(T)) },
		UpdateFunc: func(before, object any) {
			old, now := before.(T), object.(T)
			switch {
			case old.GetUID() != now.GetUID():
				gone(old)
				set(none, now)
			case old.GetResourceVersion() != now.GetResourceVersion():
				set(old, now)
			}
		},
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			gone(object.(T))
		},
	}
}

func nodeHandler(s Scheduler) cache.ResourceEventHandler {
	return handle(
		func(_, now *v1.Node) { s.SetNode(state.NewNode(now)) },
		func(n *v1.Node) { s.DeleteNode(n.Name) })
}

func namespaceHandler(s Scheduler) cache.ResourceEventHandler {
	return handle(
		func(_, now *v1.Namespace) { s.SetNamespace(state.NewNamespace(now)) },
		func(n *v1.Namespace) { s.DeleteNamespace(n.Name) })
}

// podHandler passes on bound pods and pods that wait for one of the profiles. Pods that
// wait for another scheduler are not even decoded.
func (c *Cluster) podHandler(s Scheduler) cache.ResourceEventHandler {
	ours := make(map[string]bool)
	for _, profile := range c.config.Profiles {
		ours[profile] = true
	}
	return handle(
		func(old, now *v1.Pod) {
			if now.Spec.NodeName != "" {
				c.forget(now) // another scheduler may have bound it
			}
			if now.Spec.NodeName != "" || ours[now.Spec.SchedulerName] {
				c.arrivals.set(s, state.NewPod(now), old == nil)
			}
		},
		func(p *v1.Pod) {
			c.forget(p)
			c.arrivals.remove(s, p.UID)
		})
}
