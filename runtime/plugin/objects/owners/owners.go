// Package owners stores what pods belong to, in memory: services, and the controllers that
// created them. The simulator fills it once; a watcher of a real cluster updates it.
package owners

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

var (
	_ objects.Services    = (*Store)(nil)
	_ objects.Controllers = (*Store)(nil)
)

// Store has the services and the controllers of pods. It has no lock, so it must not be read
// while it is written.
type Store struct {
	services    map[string][]*v1.Service // by namespace, sorted by name
	replication map[types.NamespacedName]*v1.ReplicationController
	replicaSets map[types.NamespacedName]*appsv1.ReplicaSet
	stateful    map[types.NamespacedName]*appsv1.StatefulSet
}

// New returns an empty store.
func New() *Store {
	return &Store{
		services:    make(map[string][]*v1.Service),
		replication: make(map[types.NamespacedName]*v1.ReplicationController),
		replicaSets: make(map[types.NamespacedName]*appsv1.ReplicaSet),
		stateful:    make(map[types.NamespacedName]*appsv1.StatefulSet),
	}
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Set adds an object or replaces the one with its name. Objects of other kinds are ignored.
func (s *Store) Set(object metav1.Object) {
	switch x := object.(type) {
	case *v1.Service:
		s.Remove(x)
		list := append(s.services[x.Namespace], x)
		slices.SortFunc(list, func(a, b *v1.Service) int { return strings.Compare(a.Name, b.Name) })
		s.services[x.Namespace] = list
	case *v1.ReplicationController:
		s.replication[nameOf(x)] = x
	case *appsv1.ReplicaSet:
		s.replicaSets[nameOf(x)] = x
	case *appsv1.StatefulSet:
		s.stateful[nameOf(x)] = x
	}
}

// Remove removes the object with this kind and name.
func (s *Store) Remove(object metav1.Object) {
	name := nameOf(object)
	switch object.(type) {
	case *v1.Service:
		// Copied, because plugins may keep the old list.
		list := slices.DeleteFunc(slices.Clone(s.services[name.Namespace]), func(x *v1.Service) bool { return x.Name == name.Name })
		s.services[name.Namespace] = list
		if len(list) == 0 {
			delete(s.services, name.Namespace)
		}
	case *v1.ReplicationController:
		delete(s.replication, name)
	case *appsv1.ReplicaSet:
		delete(s.replicaSets, name)
	case *appsv1.StatefulSet:
		delete(s.stateful, name)
	}
}

// Services implements objects.Services.
func (s *Store) Services(namespace string) []*v1.Service { return s.services[namespace] }

// ReplicationController implements objects.Controllers.
func (s *Store) ReplicationController(namespace, name string) *v1.ReplicationController {
	return s.replication[types.NamespacedName{Namespace: namespace, Name: name}]
}

// ReplicaSet implements objects.Controllers.
func (s *Store) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	return s.replicaSets[types.NamespacedName{Namespace: namespace, Name: name}]
}

// StatefulSet implements objects.Controllers.
func (s *Store) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	return s.stateful[types.NamespacedName{Namespace: namespace, Name: name}]
}

// All returns all objects, kind by kind, each sorted by namespace and name.
func (s *Store) All() (out []metav1.Object) {
	for _, namespace := range slices.Sorted(maps.Keys(s.services)) {
		for _, service := range s.services[namespace] {
			out = append(out, service)
		}
	}
	out = appendAll(out, s.replication)
	out = appendAll(out, s.replicaSets)
	return appendAll(out, s.stateful)
}

func appendAll[T metav1.Object](to []metav1.Object, all map[types.NamespacedName]T) []metav1.Object {
	names := slices.SortedFunc(maps.Keys(all), func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, name := range names {
		to = append(to, all[name])
	}
	return to
}
