package kube

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-scheduler/berth/runtime/state"
)

// owners finds services, and what pods belong to. It is written on the scheduler's
// loop and read in cycles, so it needs no lock.
type owners struct {
	services    map[string][]*v1.Service // by namespace, sorted by name
	replication map[types.NamespacedName]*v1.ReplicationController
	replicaSets map[types.NamespacedName]*appsv1.ReplicaSet
	stateful    map[types.NamespacedName]*appsv1.StatefulSet
}

func newOwners() *owners {
	return &owners{
		services:    make(map[string][]*v1.Service),
		replication: make(map[types.NamespacedName]*v1.ReplicationController),
		replicaSets: make(map[types.NamespacedName]*appsv1.ReplicaSet),
		stateful:    make(map[types.NamespacedName]*appsv1.StatefulSet),
	}
}

// ownersHandler keeps the owners. No plugin can register for their events.
func (c *Cluster) ownersHandler(s Scheduler) cache.ResourceEventHandler {
	return onLoop(s, c.owners.set, c.owners.remove)
}

// onLoop returns a handler that makes changes on the loop, of which no event comes.
func onLoop(s Scheduler, set, remove func(metav1.Object)) cache.ResourceEventHandler {
	apply := func(change func(metav1.Object), object metav1.Object) {
		s.Apply(func() (state.ClusterEvent, state.Object, bool) {
			change(object)
			return state.ClusterEvent{}, state.Object{}, false
		})
	}
	return handle(
		func(_, now metav1.Object) { apply(set, now) },
		func(object metav1.Object) { apply(remove, object) })
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (o *owners) set(object metav1.Object) {
	switch x := object.(type) {
	case *v1.Service:
		o.remove(x)
		list := append(o.services[x.Namespace], x)
		slices.SortFunc(list, func(a, b *v1.Service) int { return strings.Compare(a.Name, b.Name) })
		o.services[x.Namespace] = list
	case *v1.ReplicationController:
		o.replication[nameOf(x)] = x
	case *appsv1.ReplicaSet:
		o.replicaSets[nameOf(x)] = x
	case *appsv1.StatefulSet:
		o.stateful[nameOf(x)] = x
	}
}

func (o *owners) remove(object metav1.Object) {
	name := nameOf(object)
	switch object.(type) {
	case *v1.Service:
		// Copied, as plugins may keep what they were given.
		list := slices.DeleteFunc(slices.Clone(o.services[name.Namespace]), func(s *v1.Service) bool { return s.Name == name.Name })
		o.services[name.Namespace] = list
		if len(list) == 0 {
			delete(o.services, name.Namespace)
		}
	case *v1.ReplicationController:
		delete(o.replication, name)
	case *appsv1.ReplicaSet:
		delete(o.replicaSets, name)
	case *appsv1.StatefulSet:
		delete(o.stateful, name)
	}
}

// Services implements objects.Services.
func (o *owners) Services(namespace string) []*v1.Service { return o.services[namespace] }

// ReplicationController implements objects.Controllers.
func (o *owners) ReplicationController(namespace, name string) *v1.ReplicationController {
	return o.replication[types.NamespacedName{Namespace: namespace, Name: name}]
}

// ReplicaSet implements objects.Controllers.
func (o *owners) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	return o.replicaSets[types.NamespacedName{Namespace: namespace, Name: name}]
}

// StatefulSet implements objects.Controllers.
func (o *owners) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	return o.stateful[types.NamespacedName{Namespace: namespace, Name: name}]
}

// budgets is the PodDisruptionBudgets, sorted by namespace and name. It is written
// and read on the loop.
type budgets struct {
	list []*policyv1.PodDisruptionBudget
}

// budgetsHandler keeps the budgets.
func (c *Cluster) budgetsHandler(s Scheduler) cache.ResourceEventHandler {
	return onLoop(s, c.budgets.set, c.budgets.remove)
}

func (b *budgets) set(object metav1.Object) {
	b.remove(object)
	b.list = append(b.list, object.(*policyv1.PodDisruptionBudget))
	slices.SortFunc(b.list, func(x, y *policyv1.PodDisruptionBudget) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
}

// remove makes a new list, as plugins may keep what they were given.
func (b *budgets) remove(object metav1.Object) {
	name := nameOf(object)
	b.list = slices.DeleteFunc(slices.Clone(b.list), func(x *policyv1.PodDisruptionBudget) bool { return nameOf(x) == name })
}

// List implements objects.PodDisruptionBudgets.
func (b *budgets) List() ([]*policyv1.PodDisruptionBudget, error) { return b.list, nil }
