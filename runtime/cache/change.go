package cache

import (
	"cmp"
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Change is the result of AddPod and UpdatePod. [state.Pod.Changes] of the new pod and Previous
// gives the events of the change.
type Change struct {
	// Previous is the cache's previous version of the pod; nil if it was unknown.
	Previous *state.Pod
	// Confirmed is true if Previous was assumed.
	Confirmed bool
	// MovedFrom is the node of Previous if it differs from the pod's.
	MovedFrom string
	// Differences are the labels and annotations in which a confirmed pod differs from the
	// assumed one, sorted: labels first, then by key.
	Differences []Difference
	// Replaced is a pod of the same name and another UID that this update removed; may be nil.
	Replaced *state.Pod
}

// Difference is a label or an annotation whose value in the API differs from the assumed one.
// nil means absent.
type Difference struct {
	// Annotation is true for an annotation, false for a label.
	Annotation bool
	Key        string
	// Assumed is the value in the cache, Actual the value in the API.
	Assumed, Actual *string
	// Patched is true if a Patch wrote the key, so that a reservation was lost. Otherwise
	// another client changed the pod.
	Patched bool
}

// differences compares the labels and annotations of an assumed pod with those of its
// confirmation.
func differences(p placed, pod *state.Pod) []Difference {
	labels := mapDifferences(p.pod.Object.Labels, pod.Object.Labels, p.patch.Labels, false)
	return append(labels, mapDifferences(p.pod.Object.Annotations, pod.Object.Annotations, p.patch.Annotations, true)...)
}

func mapDifferences(assumed, actual, patch map[string]string, annotation bool) []Difference {
	var out []Difference
	add := func(key string, assumed, actual *string) {
		_, patched := patch[key]
		out = append(out, Difference{Annotation: annotation, Key: key, Assumed: assumed, Actual: actual, Patched: patched})
	}
	for key, want := range assumed {
		if got, ok := actual[key]; !ok {
			add(key, &want, nil)
		} else if got != want {
			add(key, &want, &got)
		}
	}
	for key, got := range actual {
		if _, ok := assumed[key]; !ok {
			add(key, nil, &got)
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
