package wasm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// eventView returns the event record and what it refers to (ABI-3.10). The event's nodes are
// the rows of the instance.
func (a *aux) eventView(e *clusterEvent) wire.EventView {
	view := wire.EventView{
		Resource: eventKind(e.Resource), Actions: eventActions(e.Action),
		OldNode: abi.EventNoNode, NewNode: abi.EventNoNode,
	}
	row := uint32(0)
	if e.OldNode != nil {
		view.OldNode = row
		row++
	}
	if e.NewNode != nil {
		view.NewNode = row
	}
	if e.OldPod != nil {
		view.OldPod = append([]byte(nil), a.own.EncodeOther(e.OldPod, a.core.namespace(e.OldPod.Namespace))...)
	}
	if e.NewPod != nil {
		view.NewPod = append([]byte(nil), a.own.EncodeOther(e.NewPod, a.core.namespace(e.NewPod.Namespace))...)
	}
	for _, object := range []any{e.Old, e.New} {
		if o, ok := object.(metav1.Object); ok && (o.GetNamespace() == "" || a.core.projection.Sees(o.GetNamespace())) {
			view.Namespace, view.Name = o.GetNamespace(), o.GetName()
		}
	}
	return view
}

// eventRoom returns the room that an event takes in a batch, in bytes.
func eventRoom(e *wire.EventView) (bytes uint64) {
	for _, part := range []int{len(e.OldPod), len(e.NewPod), len(e.Namespace), len(e.Name)} {
		bytes += (uint64(part) + 7) &^ 7
	}
	return bytes
}

// eventActions returns the actions as the ABI has them: one that it does not know is ActionUpdateOther. The bits up to
// ActionUpdateOther are those of package state.
func eventActions(a state.Action) abi.EventAction {
	const same = state.UpdateOther<<1 - 1
	actions, rest := abi.EventAction(a&same), a&^same
	for _, later := range [...]struct {
		here state.Action
		bit  abi.EventAction
	}{
		{state.UpdatePodReady, abi.ActionUpdatePodReady},
		{state.UpdateNamespaceLabel, abi.ActionUpdateNamespaceLabel},
	} {
		if rest&later.here != 0 {
			actions, rest = actions|later.bit, rest&^later.here
		}
	}
	if rest != 0 {
		actions |= abi.ActionUpdateOther
	}
	return actions
}

// eventKind returns the ABI's number of a resource.
func eventKind(r state.EventResource) abi.EventKind {
	switch r {
	case state.AssignedPodResource:
		return abi.EventPlacedPod
	case state.UnscheduledPodResource, state.TargetPodResource:
		return abi.EventUnplacedPod
	}
	return fields.EventKind(string(r))
}
