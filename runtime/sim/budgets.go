package sim

import (
	"reflect"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

// budgets simulates the disruption controller: it keeps the status of the PodDisruptionBudgets
// up to date. A pod counts as healthy if it is on a node and not terminating. No workload says
// how many pods are expected, so these are all that exist, placed or not, and those that were
// evicted, which a workload would replace.
type budgets struct {
	all     []*budget
	list    []*policyv1.PodDisruptionBudget
	changes int // apiServer.changes at the last update
	read    int // updates so far
}

type budget struct {
	object   *policyv1.PodDisruptionBudget
	selector labels.Selector
	pods     []*simPod
}

func newBudgets(objects []*policyv1.PodDisruptionBudget) *budgets {
	b := &budgets{changes: -1}
	for _, object := range objects {
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err != nil {
			selector = labels.Nothing()
		}
		own := object.DeepCopy()
		own.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: object.Generation}
		b.all = append(b.all, &budget{object: own, selector: selector})
		b.list = append(b.list, own)
	}
	return b
}

// admit adds a pod to the budgets that select it.
func (b *budgets) admit(p *simPod) {
	for _, budget := range b.all {
		if budget.object.Namespace == p.pod.Namespace && budget.selector.Matches(labels.Set(p.pod.Object.Labels)) {
			budget.pods = append(budget.pods, p)
		}
	}
}

// List implements objects.PodDisruptionBudgets.
func (w *apiServer) List() ([]*policyv1.PodDisruptionBudget, error) {
	if b := w.budgets; b.changes != w.changes {
		b.changes = w.changes
		differ := b.read == 0
		b.read++
		for _, budget := range b.all {
			before := budget.object.Status
			budget.update()
			differ = differ || !reflect.DeepEqual(before, budget.object.Status)
		}
		if r := w.config.Recorder; r != nil && differ {
			r.Enter(&inbox.Budgets{List: b.list})
		}
	}
	return w.budgets.list, nil
}

// update computes the status as k8s.io/kubernetes pkg/controller/disruption does.
func (b *budget) update() {
	healthy, expected := 0, 0
	for _, p := range b.pods {
		switch {
		case p.evictedBy != nil:
			expected++
		case p.gone():
		default:
			expected++
			if p.node != "" {
				healthy++
			}
		}
	}
	desired := 0
	// A value that is neither a number nor a percentage counts as 0.
	switch spec := &b.object.Spec; {
	case spec.MaxUnavailable != nil:
		n, _ := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, expected, true)
		desired = max(0, expected-n)
	case spec.MinAvailable != nil:
		desired, _ = intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, expected, true)
	}
	s := &b.object.Status
	s.ExpectedPods, s.CurrentHealthy, s.DesiredHealthy = int32(expected), int32(healthy), int32(desired)
	s.DisruptionsAllowed = int32(max(0, healthy-desired))
}
