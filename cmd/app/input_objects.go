package app

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/objectview"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// readObjects returns what plugins read of the objects of cluster files, which are not left out then. It tells of objects that are of
// another version than a plugin reads, and of values that are of another type.
func readObjects(
	ctx context.Context, stderr io.Writer, files []string, objects *input.Objects, s *config.Scheduler, attached []assembly.Attached,
) ([]state.Feed, error) {
	views := assembly.Views(s, attached)
	if len(views) == 0 {
		return nil, nil
	}
	readers := make([]*objectview.View, len(views))
	for i := range views {
		readers[i] = objectview.New(&views[i])
	}
	others := make(map[schema.GroupVersionKind]int)
	all, err := input.LoadOthers(ctx, files, func(kind schema.GroupVersionKind) bool {
		for _, v := range readers {
			switch is, otherwise := v.Of(kind); {
			case is:
				return true
			case otherwise:
				others[kind]++
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	for kind, n := range others {
		fmt.Fprintf(stderr, "warning: left out, because plugins read another version: %s of %s %s\n", count(n, "object"), kind.GroupVersion(), kind.Kind)
	}
	for _, object := range all {
		kind, _ := object["kind"].(string)
		objects.Use(kind)
	}
	out, lost := objectview.Join(views, all)
	for _, err := range lost {
		fmt.Fprintf(stderr, "warning: %v\n", err)
	}
	return out, nil
}
