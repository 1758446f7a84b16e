// Package stores keeps, for plugins, the objects of a cluster besides pods, nodes and namespaces, as
// events tell of them.
package stores

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Stores are the objects of a cluster. They are written on the scheduler's loop, so that a cycle sees
// one state of them.
type Stores struct {
	Storage *storage.Store
	Owners  *owners.Store
	Budgets *Budgets
}

// New returns empty stores.
func New() *Stores {
	return &Stores{Storage: storage.New(), Owners: owners.New(), Budgets: &Budgets{}}
}

// Change stores an object, or removes the one of its kind and name. It returns the resulting event:
// plugins can register for those of storage objects only. It panics for objects of other kinds.
func (s *Stores) Change(object metav1.Object, gone bool) (event state.ClusterEvent, changed state.Object, ok bool) {
	switch x := object.(type) {
	case *v1.Service, *v1.ReplicationController, *appsv1.ReplicaSet, *appsv1.StatefulSet:
		if gone {
			s.Owners.Remove(x)
		} else {
			s.Owners.Set(x)
		}
		return event, changed, false
	case *policyv1.PodDisruptionBudget:
		s.Budgets.change(x, gone)
		return event, changed, false
	case *resourcev1.ResourceClaim:
		// A write of this scheduler may have told of a newer version, or of what an unanswered request may have made of this one.
		if was := s.Storage.ResourceClaim(x.Namespace, x.Name); !gone && was != nil && was.UID == x.UID && ages(x, was) <= 0 {
			return event, changed, false
		}
	}
	var change storage.Change
	if gone {
		change, ok = s.Storage.Delete(object)
	} else {
		change, ok = s.Storage.Set(object), true
	}
	return change.Event, change.Object, ok
}

// All returns all objects.
func (s *Stores) All() []metav1.Object {
	out := slices.Concat(s.Storage.All(), s.Owners.All())
	for _, b := range s.Budgets.list {
		out = append(out, b)
	}
	return out
}

// Written stores a version of a resource claim that a request was answered with, or that an unanswered one may have
// made. It ignores claims that are gone, or were made anew: only the watch adds objects, because an answer may come
// later than the claim's end.
func (s *Stores) Written(claim *resourcev1.ResourceClaim) (event state.ClusterEvent, changed state.Object, ok bool) {
	was := s.Storage.ResourceClaim(claim.Namespace, claim.Name)
	if was == nil || was.UID != claim.UID {
		return event, changed, false
	}
	if order := ages(claim, was); order < 0 || order == 0 && equality.Semantic.DeepEqual(claim, was) {
		return event, changed, false
	}
	change := s.Storage.Set(claim)
	return change.Event, change.Object, true
}

// ages is positive if a version of a claim is newer than another one, and 0 if it is the same.
func ages(now, was *resourcev1.ResourceClaim) int {
	order, err := resourceversion.CompareResourceVersion(now.ResourceVersion, was.ResourceVersion)
	if err != nil {
		return 1
	}
	return order
}

// Budgets are the PodDisruptionBudgets, sorted by namespace and name.
type Budgets struct {
	list []*policyv1.PodDisruptionBudget
}

var _ objects.PodDisruptionBudgets = (*Budgets)(nil)

func (b *Budgets) change(budget *policyv1.PodDisruptionBudget, gone bool) {
	// A new list, because plugins may keep the old one.
	list := slices.DeleteFunc(slices.Clone(b.list), func(x *policyv1.PodDisruptionBudget) bool {
		return x.Namespace == budget.Namespace && x.Name == budget.Name
	})
	if !gone {
		list = append(list, budget)
		slices.SortFunc(list, func(x, y *policyv1.PodDisruptionBudget) int {
			return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
		})
	}
	b.list = list
}

// Set replaces the whole list.
func (b *Budgets) Set(list []*policyv1.PodDisruptionBudget) { b.list = list }

// List implements objects.PodDisruptionBudgets.
func (b *Budgets) List() ([]*policyv1.PodDisruptionBudget, error) { return b.list, nil }
