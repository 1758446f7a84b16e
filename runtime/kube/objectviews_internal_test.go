package kube

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	abiwire "github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/objectview"
)

// TestObjectBytes: a view that takes more than its part, or more than is left of that of all, keeps nothing, and others keep what they
// have. When all objects are listed again, and take less, they are known again.
func TestObjectBytes(t *testing.T) {
	column, err := abiwire.ParseObjectColumn("o.text:string")
	if err != nil {
		t.Fatal(err)
	}
	resources := map[string]*followedResource{}
	follow := func(name string, most, all int64) *followedResource {
		view := abiwire.ObjectView{
			ManifestObject: abiwire.ManifestObject{Name: "o", Resource: name + "s/v1", Join: abiwire.JoinNode},
			Columns:        []abiwire.ObjectColumn{column}, Args: []int{0},
		}
		r := &followedResource{
			views: []abiwire.ObjectView{view}, tables: map[string]*objectview.Table{view.Key(): objectview.NewTable(&view)},
			known: map[string]bool{view.Key(): true}, full: map[string]bool{}, all: bytesOf(resources), most: [2]int64{most, all},
		}
		resources[name] = r
		return r
	}
	apply := func(r *followedResource, objects, size int, whole bool) (known uint8) {
		t.Helper()
		reader, all := objectview.New(&r.views[0]), map[string]any{}
		for i := range objects {
			o := reader.Read(map[string]any{"metadata": map[string]any{"name": fmt.Sprint("n-", i)}, "text": strings.Repeat("x", size)})
			all[o.Name] = []*objectview.Object{o}
		}
		if known, ok := r.apply(0, all, whole)[objectview.Known]; ok {
			return known.State
		}
		return abi.FeedFresh
	}
	small, large := follow("small", 10_000, 12_000), follow("large", 10_000, 12_000)
	for i, step := range []struct {
		r             *followedResource
		objects, size int
		whole         bool
		known         uint8
		bytes         int64 // at least
	}{
		{small, 3, 1_000, true, abi.FeedFresh, 3_000},
		{large, 3, 4_000, true, abi.FeedNone, 0}, // more than its own part
		{large, 1, 100, false, abi.FeedFresh, 0}, // nothing, until all are listed again
		{large, 2, 4_000, true, abi.FeedFresh, 8_000},
		{small, 5, 1_000, true, abi.FeedNone, 0}, // more than is left of all
		{large, 2, 4_000, true, abi.FeedFresh, 8_000},
		{small, 3, 1_000, true, abi.FeedFresh, 3_000},
	} {
		known := apply(step.r, step.objects, step.size, step.whole)
		kept := step.r.tables[step.r.views[0].Key()].Bytes()
		if known != step.known || kept < step.bytes || step.bytes == 0 && kept != 0 {
			t.Errorf("step %d: known %d, %d bytes; want %d, at least %d", i, known, kept, step.known, step.bytes)
		}
	}
}
