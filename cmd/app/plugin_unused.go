package app

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
)

// tellUnused notes what the manifest reads and no scenario needs: with it left out, all answers stay as they are. An SDK ends a call that
// reads what is not there, so most names that are used end at the first pod.
func (t *pluginTest) tellUnused(ctx context.Context, files []string) {
	manifest := wire.EncodeManifest(t.module.Manifest)
	unused := berthtest.Reads(t.module.Manifest)
	for _, file := range files {
		unused = slices.DeleteFunc(unused, func(read berthtest.Read) bool {
			objects := &wholeObjects{context: ctx, scenario: file, note: func(string) {}}
			needed := recordedTo(&recorder{first: true}, func(tb testing.TB) {
				berthtest.Scenario(tb, file, manifest, t.module.factory(ctx), berthtest.Options{Objects: objects, Without: read})
			}).failed
			return len(needed) > 0
		})
	}
	if len(unused) == 0 || ctx.Err() != nil {
		return
	}
	var names []string
	for i, read := range unused {
		if i > 0 && unused[i-1].List == read.List {
			names[len(names)-1] += ", " + read.Name
		} else {
			names = append(names, read.String())
		}
	}
	t.note("no answer in the scenarios needs " + strings.Join(names, "; ") +
		": remove from the manifest what the plugin does not use, as it costs time, or add scenarios that need it")
}
