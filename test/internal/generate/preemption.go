package generate

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// started gives a placed pod a unique start time. Without one it counts as started now; two
// such pods on a node are in no particular order.
func (c *cluster) started(p *v1.Pod) {
	const cycle = 10007 // a prime, so that times are not in the order of names
	at := metav1.NewTime(time.Date(2026, 1, 1, 1, 0, c.g.pods*7919%cycle, 0, time.UTC))
	p.Status.StartTime = &at
	if c.g.has(Priorities) && c.g.chance(0.1) && !slices.ContainsFunc(c.pods, func(o *v1.Pod) bool {
		return o.Spec.NodeName == p.Spec.NodeName && o.Status.StartTime == nil
	}) {
		p.Status.StartTime = nil
	}
}

// ending marks a placed pod as being deleted, possibly because a scheduler preempted it.
func (g *Generator) ending(p *v1.Pod) {
	at, grace := metav1.NewTime(time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)), int64(30)
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace
	if g.has(Priorities) {
		p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{
			Type: v1.DisruptionTarget, Status: pick(g, v1.ConditionTrue, v1.ConditionTrue, v1.ConditionFalse),
			Reason: pick(g, v1.PodReasonPreemptionByScheduler, v1.PodReasonPreemptionByScheduler, "EvictionByEvictionAPI"),
		})
	}
}

// budget draws a PodDisruptionBudget.
func (c *cluster) budget() *policyv1.PodDisruptionBudget {
	g := c.g
	one := intstr.FromInt32(1)
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: meta(namespace(g.IntN(numNamespaces)), fmt.Sprintf("pdb%d", g.IntN(4))),
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(g.upTo(3))},
	}
	b.UID = ""
	switch g.IntN(10) {
	case 0: // selects nothing
	case 1:
		b.Spec.Selector = &metav1.LabelSelector{}
	case 2: // not valid
		b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn}}}
	case 3:
		b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	default:
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(g, "a", "b")}}
	}
	for _, p := range some(g, 2, c.pods...) {
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = make(map[string]metav1.Time)
		}
		b.Status.DisruptedPods[p.Name] = metav1.NewTime(time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC))
	}
	return b
}

// budgets draws some, of different names.
func (c *cluster) budgets(o *scenario.Objects) {
	seen := make(map[scenario.Ref]bool)
	for range c.g.upTo(5) {
		b := c.budget()
		if ref := scenario.RefOf(scenario.KindPodDisruptionBudget, b); !seen[ref] {
			seen[ref] = true
			o.PodDisruptionBudgets = append(o.PodDisruptionBudgets, b)
		}
	}
}

// preemptor makes a pod one that may preempt, or may not.
func (c *cluster) preemptor(p *v1.Pod) {
	g := c.g
	high := pick(g, int32(10), 100, 100, 1000, 1000)
	p.Spec.Priority = &high
	if g.chance(0.05) {
		p.Spec.PreemptionPolicy = pick(g, pointer(v1.PreemptNever), pointer(v1.PreemptLowerPriority))
	}
	if g.chance(0.9) { // large, so that room has to be made
		p.Spec.Containers[0].Resources.Requests = v1.ResourceList{
			v1.ResourceCPU: *milli(int64(5+g.upTo(6)) * 250), v1.ResourceMemory: *bytes(int64(3+g.upTo(7)) * 256 << 20),
		}
	}
}

// crowded draws a node's resources such that pods fill them.
func (g *Generator) crowded() v1.ResourceList {
	list := v1.ResourceList{
		v1.ResourceCPU: *milli(int64(8+g.upTo(8)) * 250), v1.ResourceMemory: *bytes(int64(8+g.upTo(8)) * 256 << 20),
		v1.ResourcePods: *count(int64(3 + g.upTo(5))), v1.ResourceEphemeralStorage: *bytes(8 << 30),
	}
	for _, name := range scalars() {
		if g.chance(0.9) {
			list[name] = *count(int64(2 + g.upTo(3)))
		}
	}
	return list
}

func pointer[T any](v T) *T { return &v }
