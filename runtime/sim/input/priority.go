package input

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// priorities does the work of the Priority admission plugin.
type priorities struct {
	classes  map[string]*schedulingv1.PriorityClass
	fallback *schedulingv1.PriorityClass // the class marked globalDefault, or nil
}

func newPriorities(objs []object, g *gatherer) *priorities {
	p := &priorities{classes: map[string]*schedulingv1.PriorityClass{}}
	var first place
	for _, o := range objs {
		class, ok := o.Object.(*schedulingv1.PriorityClass)
		if !ok {
			continue
		}
		p.classes[class.Name] = class
		if !class.GlobalDefault {
			continue
		}
		if p.fallback != nil && p.fallback.Name != class.Name && g.left != nil {
			if class.Value < p.fallback.Value { // as admission does
				p.fallback = class
			}
			continue
		}
		if p.fallback != nil && p.fallback.Name != class.Name {
			g.add(o.place.at(nil, "globalDefault",
				fmt.Sprintf("priorityclass %s at %s is already the default", p.fallback.Name, Source{first.chunk.file, first.first}),
				"keep globalDefault: true in one of them"))
			continue
		}
		p.fallback, first = class, o.place
	}
	for _, name := range []string{nodeCritical, clusterCritical} {
		if p.classes[name] == nil {
			value, _ := builtin(name)
			policy := v1.PreemptLowerPriority
			class := &schedulingv1.PriorityClass{Value: value, PreemptionPolicy: &policy}
			class.Name = name
			p.classes[name] = class
		}
	}
	return p
}

// admit sets a pod's priority, class and preemption policy. A given priority is kept: a pod
// from a cluster has the value from its creation, and a test may set a number without a class.
// It reports whether the pod can be used.
func (p *priorities) admit(o object, pod *v1.Pod, g *gatherer) bool {
	s := &pod.Spec
	if s.PriorityClassName == "" {
		if p.fallback == nil || s.Priority != nil {
			setPriority(pod, 0, v1.PreemptLowerPriority)
			return true
		}
		s.PriorityClassName = p.fallback.Name
	}
	class := p.classes[s.PriorityClassName]
	switch {
	case class != nil:
		setPriority(pod, class.Value, *class.PreemptionPolicy)
	case s.Priority != nil: // the class did its work when the pod was created
		setPriority(pod, 0, v1.PreemptLowerPriority)
	default:
		if g.full() { // do not look up its line
			g.refuse(o, &Error{})
			return false
		}
		g.refuse(o, o.place.at(nil, "spec.priorityClassName", fmt.Sprintf("there is no priorityclass %q", s.PriorityClassName),
			"add it to the files, or write one of "+strings.Join(p.names(), ", ")))
		return false
	}
	return true
}

// differs says how a pod's own priority differs from that of its class; "" if it does not.
func (p *priorities) differs(pod *v1.Pod) string {
	class := p.classes[pod.Spec.PriorityClassName]
	if class == nil || pod.Spec.Priority == nil || *pod.Spec.Priority == class.Value {
		return ""
	}
	return fmt.Sprintf("%d is kept, although priorityclass %s has %d", *pod.Spec.Priority, class.Name, class.Value)
}

func (p *priorities) names() []string {
	out := make([]string, 0, len(p.classes))
	for name := range p.classes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// setPriority sets missing fields.
func setPriority(pod *v1.Pod, value int32, policy v1.PreemptionPolicy) {
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = &value
	}
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = &policy
	}
}
