package state_test

import (
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestAssignedAt: the time of assignment is that of the condition PodScheduled if it is true, it survives a patch, and an object that
// says nothing, or something else, says it in a checkpoint.
func TestAssignedAt(t *testing.T) {
	condition := func(status v1.ConditionStatus, at int64) *state.Pod {
		return state.NewPod(&v1.Pod{Status: v1.PodStatus{Conditions: []v1.PodCondition{
			{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.Unix(5, 0)},
			{Type: v1.PodScheduled, Status: status, LastTransitionTime: metav1.Unix(at, 0)},
		}}})
	}
	if pod := condition(v1.ConditionTrue, 77); pod.AssignedAt != 77 || pod.Scheduled() != pod {
		t.Errorf("with the condition: at %d", pod.AssignedAt)
	}
	for _, pod := range []*state.Pod{state.NewPod(&v1.Pod{}), condition(v1.ConditionFalse, 77)} {
		if pod.AssignedAt != 0 || pod.Scheduled() != pod {
			t.Errorf("without a node: at %d", pod.AssignedAt)
		}
		conditions := len(pod.Object.Status.Conditions)
		on := pod.Assigned(78).On("n", state.Patch{Labels: map[string]string{"a": "b"}})
		if on.AssignedAt != 78 || state.NewPod(on.Scheduled().Object).AssignedAt != 78 {
			t.Errorf("assigned at 78, and in a checkpoint: %d, %+v", on.AssignedAt, on.Scheduled().Object.Status)
		}
		if len(pod.Object.Status.Conditions) != conditions || len(on.Object.Status.Conditions) != conditions {
			t.Error("the shared object was changed")
		}
	}
}

// TestPatch: two patches in sequence equal their merge, the later one wins, and the object that
// is shared with informers is not changed.
func TestPatch(t *testing.T) {
	values := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"", "1", "2"}))
	seeded.Check(t, func(t *rapid.T) {
		draw := func(what string) state.Patch {
			return state.Patch{Annotations: values.Draw(t, what+" annotations"), Labels: values.Draw(t, what+" labels")}
		}
		base, first, second := draw("base"), draw("first"), draw("second")
		object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(base.Labels), Annotations: maps.Clone(base.Annotations)}}
		pod := state.NewPod(object)
		want := base.Merge(first).Merge(second)
		for _, got := range []*state.Pod{
			pod.On("n", first).On("n", second),
			pod.On("n", first.Merge(second)),
		} {
			if !maps.Equal(got.Object.Labels, want.Labels) || !maps.Equal(got.Object.Annotations, want.Annotations) || got.NodeName() != "n" {
				t.Fatalf("patched to %v and %v, want %+v", got.Object.Labels, got.Object.Annotations, want)
			}
		}
		if !maps.Equal(object.Labels, base.Labels) || !maps.Equal(object.Annotations, base.Annotations) || object.Spec.NodeName != "" {
			t.Fatalf("the shared object was changed: %+v", object)
		}
		if first.Empty() != (len(first.Annotations)+len(first.Labels) == 0) {
			t.Fatalf("%+v is empty: %v", first, first.Empty())
		}
	})
}
