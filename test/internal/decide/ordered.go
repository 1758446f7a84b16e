package decide

import (
	"cmp"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/policy"
	informersv1 "k8s.io/client-go/informers/policy/v1"
	listersv1 "k8s.io/client-go/listers/policy/v1"
)

// ordered are informers that list PodDisruptionBudgets by name. Which of the budgets of a pod are charged depends on their
// order: kube-scheduler takes that of a map, and Berth that of names (docs/differences.md).
type ordered struct {
	informers.SharedInformerFactory
}

func (o ordered) Policy() policy.Interface { return orderedPolicy{o.SharedInformerFactory.Policy()} }

type orderedPolicy struct{ policy.Interface }

func (p orderedPolicy) V1() informersv1.Interface { return orderedV1{p.Interface.V1()} }

type orderedV1 struct{ informersv1.Interface }

func (v orderedV1) PodDisruptionBudgets() informersv1.TypedPodDisruptionBudgetInformer {
	return orderedBudgets{v.Interface.PodDisruptionBudgets()}
}

type orderedBudgets struct {
	informersv1.TypedPodDisruptionBudgetInformer
}

func (b orderedBudgets) Lister() listersv1.PodDisruptionBudgetLister {
	return orderedLister{b.TypedPodDisruptionBudgetInformer.Lister()}
}

type orderedLister struct {
	listersv1.PodDisruptionBudgetLister
}

func (l orderedLister) List(selector labels.Selector) ([]*policyv1.PodDisruptionBudget, error) {
	list, err := l.PodDisruptionBudgetLister.List(selector)
	slices.SortFunc(list, func(x, y *policyv1.PodDisruptionBudget) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
	return list, err
}
