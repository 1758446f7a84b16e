package debughttp

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berth-scheduler/berth/internal/plain"
)

// ofReader is the key of a request's context if the user may get the pod, but not all that the scheduler serves.
type ofReader struct{}

// OfPod returns the pod that a request asks to explain, and the request as one of somebody who may get just that pod; false if it asks
// for anything else. Such an answer names no pods of other namespaces. A question for a change is not one: it costs a what-if.
func OfPod(r *http.Request) (pod types.NamespacedName, limited *http.Request, ok bool) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), ExplainPath)
	if !ok || r.Method != http.MethodGet || r.URL.RawQuery != "" {
		return pod, nil, false
	}
	pod.Namespace, pod.Name, _ = strings.Cut(rest, "/")
	if len(validation.IsDNS1123Label(pod.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(pod.Name)) > 0 { // nothing is escaped, either
		return types.NamespacedName{}, nil, false
	}
	return pod, r.WithContext(context.WithValue(r.Context(), ofReader{}, true)), true
}

// forReader returns an explanation without pods of other namespaces.
func (e *Explanation) forReader(namespace string) *Explanation {
	out, a := *e, *e.Attempt
	a.Victims = slices.DeleteFunc(slices.Clone(a.Victims), func(pod string) bool { return !strings.HasPrefix(pod, namespace+"/") })
	out.Attempt = &a
	return &out
}

// ClusterPod is a pod in the API.
type ClusterPod struct {
	// SchedulerName is spec.schedulerName, cut to maxName bytes because the API server does not
	// limit it.
	SchedulerName string `json:"schedulerName"`
	// Node is spec.nodeName; empty if the pod is not bound.
	Node    string    `json:"node,omitempty"`
	Phase   string    `json:"phase,omitempty"`
	Created time.Time `json:"created"`
	// Bound is the time since which the condition PodScheduled is true; nil if it is not.
	Bound *time.Time `json:"bound,omitempty"`
	// Deleted is when the pod must be gone at the latest (metadata.deletionTimestamp); nil if it
	// is not being deleted.
	Deleted *time.Time `json:"deleted,omitempty"`
	// ResizeDeferred says that a resize in place waits until there is room on the node.
	ResizeDeferred bool `json:"resizeDeferred,omitempty"`
}

// maxName is the maximum length of an object's name, in bytes.
const maxName = 253

func clusterPod(p *v1.Pod) *ClusterPod {
	out := &ClusterPod{
		SchedulerName: plain.Cut(p.Spec.SchedulerName, maxName), Node: p.Spec.NodeName, Phase: string(p.Status.Phase), Created: p.CreationTimestamp.Time,
		ResizeDeferred: resourcehelper.IsPodResizeDeferred(p),
	}
	if p.DeletionTimestamp != nil {
		out.Deleted = &p.DeletionTimestamp.Time
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			out.Bound = &c.LastTransitionTime.Time
		}
	}
	return out
}

// profiles returns the scheduler names of this scheduler.
func (c *Config) profiles() []string {
	out := make([]string, 0, len(c.Configuration.Profiles))
	for i := range c.Configuration.Profiles {
		if name := c.Configuration.Profiles[i].SchedulerName; name != nil {
			out = append(out, *name)
		}
	}
	return out
}
