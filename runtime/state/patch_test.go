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
