package input

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// refused finds what an API server would refuse of a controller besides its pods (pkg/apis/apps/validation and
// pkg/apis/batch/validation in k8s.io/kubernetes). The pod has no defaults yet.
func (m *made) refused(o object) []*Error {
	c := &checker{place: o.place}
	selector, needed := m.selector, o.GetObjectKind().GroupVersionKind().Group == appsv1.GroupName
	if j, ok := o.Object.(*batchv1.Job); ok && j.Spec.ManualSelector != nil && *j.Spec.ManualSelector {
		selector, needed = j.Spec.Selector, true
	}
	const path = "spec.selector"
	none := selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
	switch {
	case none && needed:
		c.bad(path, "a workload needs a selector", "write one that matches the labels of its pods")
	case !none:
		c.selector(path, selector)
		matches, err := metav1.LabelSelectorAsSelector(selector)
		if err == nil && !matches.Matches(labels.Set(m.Pod.Labels)) {
			c.bad(path, fmt.Sprintf("it does not match the labels of the template, and the API server refuses that: %s",
				metav1.FormatLabelSelector(selector)), "write the same labels in "+m.path+".metadata.labels")
		}
	}
	m.checkRestarts(c)
	return c.errs
}

// checkRestarts checks the restart policy: pods of Jobs end, those of others do not. A value that no pod may have is found elsewhere.
func (m *made) checkRestarts(c *checker) {
	policy, path := m.Pod.Spec.RestartPolicy, m.path+".spec.restartPolicy"
	_, ends := m.owner.(*batchv1.Job)
	switch {
	case ends && policy == "":
		c.bad(path, "a Job's pods need one", "write Never or OnFailure")
	case ends && policy == v1.RestartPolicyAlways:
		c.bad(path, "pods of a Job cannot restart always", "write Never or OnFailure")
	case !ends && (policy == v1.RestartPolicyNever || policy == v1.RestartPolicyOnFailure):
		c.bad(path, fmt.Sprintf("%s is only for pods by themselves and for those of Jobs", policy), "write Always, or remove it; or make it a Job")
	}
}
