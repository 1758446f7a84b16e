package record

import (
	"slices"

	"github.com/berth-scheduler/berth/runtime/inbox"
)

// reads are the annotations that a recording has of its objects.
type reads struct {
	kept    []string // keys, and prefixes with an asterisk
	objects bool     // there are objects already
}

// enter takes an event. It returns the annotations that plugins of a Swap read and that the objects before it were recorded without.
func (r *reads) enter(e inbox.Event) (more []string) {
	switch e := e.(type) {
	case *inbox.Settings:
		r.kept = e.Annotations
	case *inbox.Swap:
		for _, key := range e.Annotations {
			if !slices.ContainsFunc(r.kept, func(kept string) bool { return inbox.Keeps(kept, key) }) {
				more = append(more, key)
			}
		}
		r.kept = append(slices.Clip(r.kept), more...)
		if !r.objects {
			return nil
		}
	case *inbox.Node, *inbox.Pods, *inbox.Namespace, *inbox.Object:
		r.objects = true
	}
	return more
}
