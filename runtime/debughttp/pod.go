package debughttp

import (
	"time"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berth-scheduler/berth/internal/plain"
)

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
