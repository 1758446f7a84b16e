package compare

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// order compares which of two pods comes first.
func (r *run) order(q *scenario.Query) {
	ours, ok := r.ours.(plugin.QueueSort)
	if !ok || q.Against == nil || !slices.Contains(r.theirs.Points(), abi.QueueSort) {
		return
	}
	theirs := r.theirs
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a := &state.QueuedPod{Pod: r.pod, Timestamp: start}
	b := &state.QueuedPod{Pod: state.NewPod(q.Against.Pod), Timestamp: start.Add(q.Against.After)}
	r.counts.Orders++
	same(r, "Less", fmt.Sprint(ours.Less(a, b), ours.Less(b, a)), fmt.Sprint(theirs.Less(a, b), theirs.Less(b, a)))
}

// events compares what events mean for the pod if the plugin rejected it.
func (r *run) events(q *scenario.Query) {
	if len(r.theirs.Info().Events) == 0 {
		return // no event is asked about; that ours has none either, points sees
	}
	for i := range q.Events {
		event, object, err := decodeEvent(&q.Events[i])
		if err != nil {
			r.invalid = fmt.Errorf("event %d: %w", i, err)
			return
		}
		x, y := r.hint(r.ours, event, object), r.hint(r.theirs, event, object)
		if y == state.Queue {
			r.counts.HintsQueue++
		} else {
			r.counts.HintsSkip++
		}
		r.event = &q.Events[i]
		same(r, fmt.Sprintf("hint for %s/%s", r.event.Resource, r.event.Action), hintName(x), hintName(y))
	}
	r.event = nil
}

func hintName(h state.Hint) string {
	if h == state.Queue {
		return framework.Queue.String()
	}
	return framework.QueueSkip.String()
}

// hint combines a plugin's hints as the queue does: one that queues the pod, or that fails, is
// sufficient.
func (r *run) hint(p plugin.Plugin, event state.ClusterEvent, object state.Object) state.Hint {
	if hinter, ok := p.(plugin.Hinter); ok {
		out := []state.Hint{state.Queue}
		hinter.Hint(event, object, []*state.Pod{r.pod}, out)
		return out[0]
	}
	for i := range p.Info().Events {
		e := &p.Info().Events[i]
		if !e.Matches(event) {
			continue
		}
		if e.Hint == nil {
			return state.Queue
		}
		if hint, err := e.Hint(r.pod, object); err != nil || hint == state.Queue {
			return state.Queue
		}
	}
	return state.QueueSkip
}

func decodeEvent(e *scenario.Event) (event state.ClusterEvent, object state.Object, err error) {
	action, ok := state.ParseAction(e.Action)
	if e.Action == "UpdateOther" {
		action, ok = state.UpdateOther, true
	}
	if !ok {
		return event, object, fmt.Errorf("%q is not an action", e.Action)
	}
	if before, after := e.Old.First() != nil, e.New.First() != nil; before == (action == state.Add) || after == (action == state.Delete) {
		return event, object, fmt.Errorf("%s with a former object %v, a later one %v", e.Action, before, after)
	}
	event = state.ClusterEvent{Resource: state.EventResource(e.Resource), Action: action}
	switch before, after := e.Old.First(), e.New.First(); e.Resource {
	case string(state.NodeResource):
		if n, ok := before.(*v1.Node); ok {
			object.OldNode = state.NewNode(n)
		}
		if n, ok := after.(*v1.Node); ok {
			object.NewNode = state.NewNode(n)
		}
	case string(state.AssignedPodResource), string(state.UnscheduledPodResource), string(state.TargetPodResource):
		if p, ok := before.(*v1.Pod); ok {
			object.OldPod = state.NewPod(p)
		}
		if p, ok := after.(*v1.Pod); ok {
			object.NewPod = state.NewPod(p)
		}
	default:
		if before != nil {
			object.Old = before
		}
		if after != nil {
			object.New = after
		}
	}
	return event, object, nil
}

// allEvents is every resource with every action that it can have, one at a time.
func allEvents() []state.ClusterEvent {
	var out []state.ClusterEvent
	all := func(resource state.EventResource, actions ...state.Action) {
		for _, action := range append(actions, state.Add, state.Delete) {
			out = append(out, state.ClusterEvent{Resource: resource, Action: action})
		}
	}
	all(state.NodeResource, state.UpdateNodeAllocatable, state.UpdateNodeLabel, state.UpdateNodeTaint, state.UpdateNodeCondition,
		state.UpdateNodeAnnotation, state.UpdateNodeDeclaredFeature, state.UpdateNodePreemptionPolicy)
	for _, resource := range []state.EventResource{state.AssignedPodResource, state.UnscheduledPodResource, state.TargetPodResource} {
		all(resource, state.UpdatePodLabel, state.UpdatePodScaleDown, state.UpdatePodScaleUp, state.UpdatePodToleration, state.UpdatePodSchedulingGatesEliminated,
			state.UpdatePodGeneratedResourceClaim, state.UpdateOther)
	}
	for _, resource := range []state.EventResource{
		state.PersistentVolumeResource, state.PersistentVolumeClaimResource, state.CSINodeResource, state.CSIDriverResource,
		state.VolumeAttachmentResource, state.CSIStorageCapacityResource, state.StorageClassResource, state.ResourceClaimResource,
		state.ResourceSliceResource, state.DeviceClassResource,
	} {
		all(resource, state.UpdateOther)
	}
	return out
}

func actionName(a state.Action) string {
	if a == state.UpdateOther {
		return "UpdateOther"
	}
	return a.String()
}
