package kube

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// guardedHandler keeps the informers running if an object cannot be converted: it is left out until it changes.
type guardedHandler struct {
	cache.ResourceEventHandler
	cluster *Cluster
	to      Scheduler
}

// OnAdd implements cache.ResourceEventHandler.
func (h guardedHandler) OnAdd(object any, first bool) {
	h.guard(object, func() { h.ResourceEventHandler.OnAdd(object, first) })
}

// OnUpdate implements cache.ResourceEventHandler.
func (h guardedHandler) OnUpdate(old, object any) {
	h.guard(object, func() { h.ResourceEventHandler.OnUpdate(old, object) })
}

// OnDelete implements cache.ResourceEventHandler.
func (h guardedHandler) OnDelete(object any) {
	h.guard(object, func() { h.ResourceEventHandler.OnDelete(object) })
}

func (h guardedHandler) guard(object any, call func()) {
	name := nameOf(object)
	err := h.cluster.deps.guard(plugin.InConversion, name, func() {
		h.cluster.deps.fault("conversion", name)
		call()
	})
	if err != nil {
		h.leaveOut(object, err)
	}
}

// leaveOut withdraws the version of an object that the scheduler knows, where going on with it would be worse than without:
// of a node, and of a pod without a node, whose condition has the reason.
func (h guardedHandler) leaveOut(object any, err error) {
	switch x := object.(type) {
	case *v1.Node:
		h.to.DeleteNode(x.Name)
	case *v1.Pod:
		if x.Spec.NodeName != "" {
			return
		}
		h.to.DeletePod(x.UID)
		h.cluster.held.drop(x.UID)
		h.cluster.status.set(x, v1.PodCondition{
			Type: v1.PodScheduled, Status: v1.ConditionFalse, ObservedGeneration: x.Generation,
			Reason: v1.PodReasonSchedulerError, Message: err.Error(),
		}, nil)
	}
}

// nameOf names an object of the API.
func nameOf(object any) string {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return "an object " + last.Key
	}
	switch x := object.(type) {
	case *v1.Pod:
		return "pod " + x.Namespace + "/" + x.Name
	case *v1.Node:
		return "node " + x.Name
	case metav1.Object:
		return "object " + x.GetNamespace() + "/" + x.GetName()
	}
	return "an object"
}

// guard calls a function beside the loop. A panic in it is its error, and is told.
func (d *Deps) guard(place plugin.Place, what string, call func()) error {
	return plugin.Guard(place, what, func(p *plugin.Panic) {
		d.Log.Error("a panic was stopped; please report it", "place", string(p.Place), "what", p.What, "panic", p.Value, "stack", string(p.Stack))
		if d.Panicked != nil {
			d.Panicked(p)
		}
	}, call)
}

// fault is where tests make the cluster panic.
func (d *Deps) fault(at, what string) {
	if d.Fault != nil {
		d.Fault(at, what)
	}
}
