package everypoint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/internal/everypoint"
)

// TestPublished: one plugin publishes a key and another one, with the same code, reads it from
// pre_filter to the binding.
func TestPublished(t *testing.T) {
	trial := berthtest.New(t, everypoint.Manifest, berthtest.Native(everypoint.New), "")
	trial.Nodes = []berthtest.Node{{Name: "a"}}
	trial.Publishers = map[string]*berthtest.Trial{"publisher": berthtest.New(t, everypoint.Manifest, berthtest.Native(everypoint.New), "")}
	got := trial.Schedule(berthtest.Pod{Namespace: "default", Name: "web", Annotations: map[string]string{
		"everypoint.berth.dev/pre-filter": "publish plan of {uid}",
		"everypoint.berth.dev/bind":       "annotate everypoint.berth.dev/read {published};bind",
	}}, berthtest.Schedule{})
	if want := "  annotate everypoint.berth.dev/read=plan of default/web"; !slices.Contains(got, want) {
		t.Errorf("got\n%s\nwant a line %s", strings.Join(got, "\n"), want)
	}
}

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", everypoint.Manifest, berthtest.Native(everypoint.New))
}
