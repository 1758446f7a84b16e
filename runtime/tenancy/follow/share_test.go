package follow

import (
	"testing"

	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// TestShareWhileJudging: a module that was fetched while objects are judged is shared by those that
// are fetched next, and forgotten when no plugin is made of it.
func TestShareWhileJudging(t *testing.T) {
	var s shared
	load := func() *module.Loaded { return s.share(&module.Loaded{Digest: "sha256:1", Bytes: []byte("m")}) }
	first := load()
	s.keep(&tenancy.Result{}) // of what was judged before
	second := load()
	if &first.Bytes[0] != &second.Bytes[0] {
		t.Error("the module is in memory twice")
	}
	s.keep(&tenancy.Result{Plugins: []tenancy.Plugin{{Module: first}}})
	if third := load(); &first.Bytes[0] != &third.Bytes[0] {
		t.Error("the module of a plugin is in memory twice")
	}
	for range 2 {
		s.keep(&tenancy.Result{})
	}
	if len(s.byDigest) > 0 {
		t.Error("a module that nobody uses stays in memory")
	}
}
