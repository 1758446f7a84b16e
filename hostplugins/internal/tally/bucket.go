package tally

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Bucket is a key under which counts are filed, so that a pod need not be checked against all
// of them: a pod can only match counts of its namespace and labels. A count of several
// namespaces has an empty Namespace, one whose selector requires no particular label value an
// empty Key.
type Bucket struct{ Namespace, Key, Value string }

// With returns the bucket for a selector: that of a label value that the selector requires, if
// there is one.
func (b Bucket) With(s labels.Selector) Bucket {
	requirements, _ := s.Requirements()
	for i := range requirements {
		r := &requirements[i]
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				b.Key, b.Value = r.Key(), values[0]
				return b
			}
		}
	}
	return b
}

// Buckets calls yield with each bucket that may hold counts for pods of a namespace with these
// labels.
func Buckets(namespace string, podLabels map[string]string, yield func(Bucket)) {
	for i, b := range [...]Bucket{{}, {Namespace: namespace}} {
		if i > 0 && namespace == "" {
			return // only in tests
		}
		yield(b)
		for b.Key, b.Value = range podLabels {
			yield(b)
		}
	}
}
