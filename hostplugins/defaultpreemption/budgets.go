package defaultpreemption

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// budgets holds the PodDisruptionBudgets by namespace.
type budgets struct {
	byNamespace map[string][]*budget
	used        []*budget // whose left has been decremented
}

// budget is a budget that can select pods. A budget with an invalid or empty selector selects
// none and is left out.
type budget struct {
	object   *policyv1.PodDisruptionBudget
	selector labels.Selector
	left     int32 // evictions that it still allows
}

func newBudgets(list objects.PodDisruptionBudgets) (*budgets, error) {
	b := &budgets{byNamespace: make(map[string][]*budget)}
	if list == nil {
		return b, nil
	}
	all, err := list.List()
	if err != nil {
		return nil, fmt.Errorf("list poddisruptionbudgets: %w", err)
	}
	for _, object := range all {
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err != nil || selector.Empty() {
			continue
		}
		b.byNamespace[object.Namespace] = append(b.byNamespace[object.Namespace],
			&budget{object: object, selector: selector, left: object.Status.DisruptionsAllowed})
	}
	return b, nil
}

// split charges the eviction of the pods, in order, to the budgets that select them, and
// returns the pods for which one of these budgets was exhausted, and the others, in order. The first
// that was exhausted is the last that is charged. A pod in a budget's disruptedPods has already been
// counted by the API server.
func (b *budgets) split(pods []*state.Pod) (violating, sound []*state.Pod) {
	for _, pod := range pods {
		violated := false
		for _, budget := range b.byNamespace[pod.Namespace] {
			if len(pod.Object.Labels) == 0 || !budget.selector.Matches(labels.Set(pod.Object.Labels)) {
				continue
			}
			if _, counted := budget.object.Status.DisruptedPods[pod.Name]; counted {
				continue
			}
			if budget.left == budget.object.Status.DisruptionsAllowed {
				b.used = append(b.used, budget)
			}
			if budget.left--; budget.left < 0 {
				violated = true
				break
			}
		}
		if violated {
			violating = append(violating, pod)
		} else {
			sound = append(sound, pod)
		}
	}
	for _, budget := range b.used { // each node is evaluated on its own
		budget.left = budget.object.Status.DisruptionsAllowed
	}
	b.used = b.used[:0]
	return violating, sound
}
