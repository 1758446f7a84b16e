package kube

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Binding implements scheduler.Outlet. It is the only check of the lease for extenders that
// bind pods.
func (c *Cluster) Binding(ctx context.Context, pod *state.Pod) error {
	if err := c.deps.Covered(); err != nil {
		return err
	}
	c.held.drop(pod.UID)
	return c.status.supersede(ctx, pod.UID)
}

// Scheduled implements scheduler.Outlet. It drops pending writes about failed attempts,
// because the API server has set the condition with the binding.
func (c *Cluster) Scheduled(pod *state.Pod, node string, left state.Feature) {
	c.forget(pod.Object)
	if c.config.Quiet || c.deps.Covered() != nil { // the next leader sees the binding
		return
	}
	note := "Successfully assigned " + pod.Namespace + "/" + pod.Name + " to " + node
	if left != 0 {
		note += fmt.Sprintf("; not enforced here, but left to others: %v", left)
	}
	c.events.placed(pod, note)
}

// Failed implements scheduler.Outlet.
func (c *Cluster) Failed(f scheduler.Failure) {
	if c.deps.Covered() != nil { // the next leader schedules the pod, or has done so
		return
	}
	c.events.warning(f.Pod, "FailedScheduling", "Scheduling", f.Message)
	var nominated *string
	if f.Override {
		nominated = &f.Nominated
	}
	c.held.replaced(f.Pod.UID)
	c.status.set(f.Pod.Object, v1.PodCondition{
		Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: f.Reason, Message: plain.Lines(f.Message, report.MaxMessage), ObservedGeneration: f.Pod.Object.Generation,
	}, nominated)
}

// Preempted implements scheduler.Outlet.
func (c *Cluster) Preempted(p scheduler.Preempted) {
	if c.deps.Covered() != nil {
		return
	}
	c.events.normal(p.Victim, p.Preemptor, "Preempted", "Preempting", "%s", p.Message)
}

// NominationCleared implements scheduler.Outlet.
func (c *Cluster) NominationCleared(pod *state.Pod) {
	c.status.set(pod.Object, v1.PodCondition{}, new(string))
}

// forget drops the writes of a pod that is bound or gone.
func (c *Cluster) forget(pod *v1.Pod) {
	c.held.drop(pod.UID)
	c.status.drop(pod.UID)
	c.deps.Requests.forget(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
}
