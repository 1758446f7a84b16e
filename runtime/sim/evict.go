package sim

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Evict implements objects.Evictor like an API server and a kubelet: the pod is terminating
// from now on, and gone when its grace period is over.
func (w *apiServer) Evict(_ context.Context, e objects.Eviction) error {
	if w.config.NoEvictions {
		return errors.New("no pod is evicted in this simulation")
	}
	p := w.byUID[e.Victim.UID]
	if p == nil || p.gone() || p.evictedBy != nil {
		return nil
	}
	now := w.clock.Now()
	leaves := now
	if p.node != "" {
		leaves = now.Add(grace(p.pod.Object))
	}
	p.evictedBy, p.evictedAt = e.Preemptor, w.now()
	if p.until.IsZero() || leaves.Before(p.until) {
		w.leaves(p, leaves)
	}
	w.evicted = append(w.evicted, p)
	w.changes++
	condition := e.Condition
	condition.LastTransitionTime = metav1.Time{Time: now}
	w.change(p, func(object *v1.Pod) {
		object.DeletionTimestamp = &metav1.Time{Time: p.until}
		object.Status.Conditions = append(object.Status.Conditions, condition)
	})
	w.scheduler.SetPods(p.pod)
	return nil
}

// grace returns the pod's grace period.
func grace(pod *v1.Pod) time.Duration {
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return v1.DefaultTerminationGracePeriodSeconds * time.Second
}

// change stores a new version of a pod.
func (w *apiServer) change(p *simPod, how func(object *v1.Pod)) {
	object := p.pod.Object.DeepCopy()
	object.ResourceVersion = "" // with the file's version the scheduler would see no change
	how(object)
	p.pod = state.NewPod(object)
}

// Preempted implements scheduler.Outlet. Evict has recorded the deleted pods already, and the
// others continue.
func (w *apiServer) Preempted(scheduler.Preempted) {}

// Binding implements scheduler.Outlet. Failures are reported immediately, so there is nothing
// to wait for.
func (*apiServer) Binding(context.Context, *state.Pod) error { return nil }

// NominationCleared implements scheduler.Outlet.
func (w *apiServer) NominationCleared(pod *state.Pod) {
	if p := w.byUID[pod.UID]; p != nil && !p.gone() && p.pod.NominatedNode() != "" {
		w.change(p, func(object *v1.Pod) { object.Status.NominatedNodeName = "" })
		w.scheduler.SetPods(p.pod)
	}
}
