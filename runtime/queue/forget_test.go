package queue_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// large returns a node with an annotation of so many bytes.
func large(version, size int) *state.Node {
	return state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n", ResourceVersion: fmt.Sprint(version), Annotations: map[string]string{"a": strings.Repeat("x", size)},
	}})
}

// TestSizeOfMissed: kept events count their old objects, once for each change, and pods that return give that back.
func TestSizeOfMissed(t *testing.T) {
	w := newWorld(t, queue.DefaultConfig(), nil)
	w.Add(newPod("a", nil))
	w.Pop()
	old, now := large(1, 100_000), large(2, 100_000)
	update := func(action state.Action) {
		w.Move(state.ClusterEvent{Resource: state.NodeResource, Action: action}, state.Object{OldNode: old, NewNode: now}, nil)
	}
	update(state.UpdateNodeLabel)
	if got := w.MissedBytes(); got < 100_000 || got > 101_000 {
		t.Errorf("an update of a node of 100,000 bytes counts %d", got)
	}
	update(state.UpdateNodeAllocatable)
	if got := w.MissedBytes(); got > 101_000 {
		t.Errorf("two events of one update count %d", got)
	}
	old, now = now, large(3, 100_000)
	update(state.UpdateNodeLabel)
	if got := w.MissedBytes(); got < 200_000 || got > 202_000 {
		t.Errorf("two updates count %d", got)
	}
	w.Add(newPod("b", nil))
	w.Pop()
	update(state.UpdateNodeLabel)
	w.Delete("a")
	if got := w.MissedBytes(); got > 1_000 || w.InFlightEvents() != 1 { // its old node counts with an event that is gone
		t.Errorf("%d bytes are kept for %d events", got, w.InFlightEvents())
	}
	w.Delete("b")
	if got := w.MissedBytes(); got != 0 {
		t.Errorf("%d bytes are kept for nobody", got)
	}
}

// TestForget: pods that were in flight when events were forgotten back off, whatever rejected them; later ones wait for events as
// always, and parked ones are not moved.
func TestForget(t *testing.T) {
	w := newWorld(t, queue.DefaultConfig(), nil)
	pop := func(name string) *state.QueuedPod {
		w.Add(newPod(name, nil))
		p, _ := w.Pop()
		return p
	}
	parked := pop("parked")
	parked.Rejectors = []string{"Fit"}
	w.AddUnschedulable(parked)
	first := pop("first")
	pending := pop("pending")
	for range 1000 {
		w.Move(state.EventAssignedPodAdd(), state.Object{OldPod: newPod("x", nil)}, nil)
	}
	w.Forget()
	if w.InFlightEvents() != 1 || w.MissedBytes() > 1000 {
		t.Errorf("%d events of %d bytes are kept", w.InFlightEvents(), w.MissedBytes())
	}
	late := pop("late")
	first.Rejectors, pending.Pending, late.Rejectors = []string{"Fit"}, []string{"Fit"}, []string{"Fit"}
	for _, p := range []*state.QueuedPod{first, pending, late} {
		w.AddUnschedulable(p)
	}
	for name, want := range map[string]queue.Place{
		"parked": queue.Unschedulable, "first": queue.Backoff, "pending": queue.Backoff, "late": queue.Unschedulable,
	} {
		if _, place := w.Get(newPod(name, nil).UID); place != want {
			t.Errorf("%s is at %v, want %v", name, place, want)
		}
	}
	if w.InFlightEvents() != 0 {
		t.Errorf("%d events are kept for nobody", w.InFlightEvents())
	}
	w.Forget()
	if w.InFlightEvents() != 0 {
		t.Error("an event is kept though nothing is in flight")
	}
}
