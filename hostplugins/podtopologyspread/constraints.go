package podtopologyspread

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-scheduler/berth/runtime/state"
)

// constraints returns the pod's constraints of one kind, or the default ones if the pod has
// none of any kind.
func (p *PodTopologySpread) constraints(pod *state.Pod, when v1.UnsatisfiableConstraintAction) ([]state.SpreadConstraint, error) {
	kind, from := "soft", pod.Spread
	if when == v1.DoNotSchedule {
		kind = "hard"
	}
	if len(from) == 0 {
		return p.defaultConstraints(pod, when), nil
	}
	return ofKind(from, when, kind)
}

func ofKind(from []state.SpreadConstraint, when v1.UnsatisfiableConstraintAction, kind string) ([]state.SpreadConstraint, error) {
	n := 0
	for i := range from {
		if from[i].When == when {
			if from[i].Err != nil {
				return nil, fmt.Errorf("obtaining pod's %s topology spread constraints: %w", kind, from[i].Err)
			}
			n++
		}
	}
	if n == len(from) {
		return from, nil
	}
	out := make([]state.SpreadConstraint, 0, n)
	for i := range from {
		if from[i].When == when {
			out = append(out, from[i])
		}
	}
	return out, nil
}

// defaultConstraints returns the constraints of the args, with a selector for the pods of the
// same services and controller; none if the pod has neither.
func (p *PodTopologySpread) defaultConstraints(pod *state.Pod, when v1.UnsatisfiableConstraintAction) []state.SpreadConstraint {
	defaults := p.defaults.soft
	if when == v1.DoNotSchedule {
		defaults = p.defaults.hard
	}
	if len(defaults) == 0 {
		return nil
	}
	s, ok := p.defaultSelector(pod.Object)
	if !ok {
		return nil
	}
	selector := state.NewPodSelector(s)
	out := slices.Clone(defaults)
	for i := range out {
		out[i].Selector = selector
	}
	return out
}

// defaultSelector selects the pods of the services that select the pod, and of the controller
// that owns it; false if it would select everything.
func (p *PodTopologySpread) defaultSelector(pod *v1.Pod) (labels.Selector, bool) {
	var set labels.Set
	if p.deps.Services != nil {
		for _, service := range p.deps.Services.Services(pod.Namespace) {
			// A service without a selector selects nothing, one with an empty selector everything.
			if service.Spec.Selector != nil && labels.Set(service.Spec.Selector).AsSelectorPreValidated().Matches(labels.Set(pod.Labels)) {
				set = labels.Merge(set, service.Spec.Selector)
			}
		}
	}
	more, selector := p.controllerSelector(pod)
	if len(more) > 0 {
		set = labels.Merge(set, more)
	}
	if len(set) == 0 && selector == nil {
		return nil, false
	}
	out := set.AsSelector()
	// A selector that cannot be evaluated is ignored.
	if s, err := metav1.LabelSelectorAsSelector(selector); err == nil {
		if requirements, selectable := s.Requirements(); selectable {
			out = out.Add(requirements...)
		}
	}
	return out, !out.Empty()
}

// controllerSelector returns the selector of the controller that owns the pod, as a set of
// labels or as a selector.
func (p *PodTopologySpread) controllerSelector(pod *v1.Pod) (labels.Set, *metav1.LabelSelector) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if p.deps.Controllers == nil || owner == nil {
		return nil, nil
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return nil, nil
	}
	switch version.WithKind(owner.Kind) {
	case v1.SchemeGroupVersion.WithKind("ReplicationController"):
		if rc := p.deps.Controllers.ReplicationController(pod.Namespace, owner.Name); rc != nil {
			return rc.Spec.Selector, nil
		}
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):
		if rs := p.deps.Controllers.ReplicaSet(pod.Namespace, owner.Name); rs != nil {
			return nil, rs.Spec.Selector
		}
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet"):
		if ss := p.deps.Controllers.StatefulSet(pod.Namespace, owner.Name); ss != nil {
			return nil, ss.Spec.Selector
		}
	}
	return nil, nil
}
