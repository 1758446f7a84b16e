package state

import (
	"encoding/binary"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// PodSelector is a compiled label selector on pods or on namespaces.
type PodSelector struct {
	labels.Selector
	// Text is a map key: equal texts match the same objects.
	Text string
}

// NewPodSelector wraps a compiled selector.
func NewPodSelector(s labels.Selector) PodSelector {
	return PodSelector{Selector: s, Text: string(appendSelector(nil, s))}
}

// CompilePodSelector compiles a label selector of the API: nil matches nothing, an empty one
// matches everything.
func CompilePodSelector(in *metav1.LabelSelector) (PodSelector, error) {
	s, err := metav1.LabelSelectorAsSelector(in)
	if err != nil {
		return PodSelector{Selector: labels.Nothing()}, err
	}
	return NewPodSelector(s), nil
}

// appendSelector writes requirements with the lengths of all strings, because unchecked values
// may contain anything.
func appendSelector(dst []byte, s labels.Selector) []byte {
	requirements, selectable := s.Requirements()
	if !selectable {
		return append(dst, 'n')
	}
	dst = binary.AppendUvarint(append(dst, 's'), uint64(len(requirements)))
	for i := range requirements {
		r := &requirements[i]
		values := slices.Sorted(slices.Values(r.ValuesUnsorted()))
		dst = appendText(dst, r.Key())
		dst = appendText(dst, string(r.Operator()))
		dst = binary.AppendUvarint(dst, uint64(len(values)))
		for _, v := range values {
			dst = appendText(dst, v)
		}
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
