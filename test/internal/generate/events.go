package generate

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// event draws an event while the pod is parked. Its action is what kube-scheduler derives from
// the change.
func (c *cluster) event(pod *v1.Pod) scenario.Event {
	g := c.g
	switch n := g.IntN(10); {
	case n < 1:
		return nodeEvent("Add", nil, g.node())
	case n < 4:
		old := pick(g, c.nodes...)
		now := g.changedNode(old)
		events := framework.NodeSchedulingPropertiesChange(now, old)
		if len(events) == 0 {
			return nodeEvent("UpdateNodeCondition", old, now)
		}
		return nodeEvent(pick(g, events...).ActionType.String(), old, now)
	case n < 5:
		return nodeEvent("Delete", pick(g, c.nodes...), nil)
	case n < 7:
		now := g.changedPod(pod)
		if g.chance(0.2) {
			other := g.pod(c.names())
			other.Spec.NodeName = ""
			return podEvent("UnscheduledPod", other, g.changedPod(other))
		}
		return podEvent("TargetPod", pod, now)
	case n < 8 && len(c.pods) > 0:
		old := pick(g, c.pods...)
		return podEvent("AssignedPod", old, g.changedPod(old))
	case n < 9 && len(c.pods) > 0:
		return scenario.Event{Resource: "AssignedPod", Action: "Delete", Old: scenario.Objects{Pods: []*v1.Pod{pick(g, c.pods...)}}}
	case g.has(Volumes):
		return c.storage.event(g, c.names(), pod)
	}
	return scenario.Event{Resource: "AssignedPod", Action: "Add", New: scenario.Objects{Pods: []*v1.Pod{g.placedPod(pick(g, c.names()...))}}}
}

func nodeEvent(action string, old, now *v1.Node) scenario.Event {
	e := scenario.Event{Resource: "Node", Action: action}
	if old != nil {
		e.Old.Nodes = []*v1.Node{old}
	}
	if now != nil {
		e.New.Nodes = []*v1.Node{now}
	}
	return e
}

func podEvent(resource string, old, now *v1.Pod) scenario.Event {
	action := "UpdateOther"
	if events := framework.PodSchedulingPropertiesChange(now, old, resource == "TargetPod"); len(events) > 0 {
		if name := events[0].ActionType.String(); name != "Update" {
			action = name
		}
	}
	return scenario.Event{Resource: resource, Action: action, Old: scenario.Objects{Pods: []*v1.Pod{old}}, New: scenario.Objects{Pods: []*v1.Pod{now}}}
}
