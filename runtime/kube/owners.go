package kube

import (
	"cmp"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-scheduler/berth/runtime/state"
)

// ownersHandler keeps the owners. No plugin can register for their events.
func (c *Cluster) ownersHandler(s Scheduler) cache.ResourceEventHandler {
	return onLoop(s, c.owners.Set, c.owners.Remove)
}

// onLoop returns a handler that makes changes on the loop without a scheduling event.
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

// budgets holds the PodDisruptionBudgets, sorted by namespace and name. Only the loop reads
// and writes it.
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

// remove makes a new list, because plugins may keep the old one.
func (b *budgets) remove(object metav1.Object) {
	name := nameOf(object)
	b.list = slices.DeleteFunc(slices.Clone(b.list), func(x *policyv1.PodDisruptionBudget) bool { return nameOf(x) == name })
}

// List implements objects.PodDisruptionBudgets.
func (b *budgets) List() ([]*policyv1.PodDisruptionBudget, error) { return b.list, nil }
