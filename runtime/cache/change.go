package cache

import (
	"cmp"
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Change is what AddPod and UpdatePod found in the cache. [state.Pod.Changes]
// of the new pod and Previous gives the events that the change amounts to.
type Change struct {
	// Previous is the same pod as the cache held it; nil if it was unknown.
	Previous *state.Pod
	// Confirmed tells that Previous was assumed.
	Confirmed bool
	// MovedFrom is the node that Previous was on, if it is not the pod's.
	MovedFrom string
	// Differences is the labels and annotations in which a confirmed pod is not
	// what was assumed, sorted: labels first, then by key.
	Differences []Difference
	// Replaced is a pod of the same name and another UID that went with this
	// update; nil if there was none.
	Replaced *state.Pod
}

// Difference is a label or an annotation of which the API server shows another
// value than was assumed. Nil stands for absent.
type Difference struct {
	// Annotation tells annotations from labels.
	Annotation bool
	Key        string
	// Assumed is the value in the cache, Actual what the API server shows.
	Assumed, Actual *string
	// Patched tells that the key was written by a Patch, and so that a
	// reservation was lost and not merely that somebody else wrote on the pod.
	Patched bool
}

// differences compares the labels and annotations of an assumed pod with those
// of its confirmation.
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
