package loadaware_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/loadaware"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", loadaware.Manifest, berthtest.Native(loadaware.New))
}

// TestOwnThresholds: an annotation of a node replaces the thresholds, as in Koordinator's case "filter exceed memory usage by custom usage
// thresholds"; one that cannot be read replaces none.
func TestOwnThresholds(t *testing.T) {
	trial := berthtest.New(t, loadaware.Manifest, berthtest.Native(loadaware.New), "")
	for name, thresholds := range map[string]string{
		"memory": `{"usageThresholds": {"memory": 60}}`, "enough": `{"usageThresholds": {"cpu": 60, "memory": 65}}`, "none": `{"usageThresholds": {"cpu": 10}}`,
		"bad": `{`, "beyond": `{"usageThresholds": {"memory": 1000}}`,
	} {
		trial.Nodes = append(trial.Nodes, berthtest.Node{
			Name: name, Annotations: map[string]string{"scheduling.koordinator.sh/usage-thresholds": thresholds},
			Allocatable: map[string]int64{"cpu": 96_000, "memory": 512 << 30},
			Feeds:       map[string]int64{"node.cpu.usage:milli": 30_000, "node.memory.usage:bytes": 316 << 30},
		})
	}
	want := map[string]string{"memory": "node(s) used too much memory", "none": "node(s) used too much CPU"}
	for _, v := range trial.Place(berthtest.Pod{Namespace: "default", Name: "pod"}) {
		if got := strings.Join(v.Reasons, ", "); got != want[v.Node] {
			t.Errorf("%s: %q, want %q", v.Node, got, want[v.Node])
		}
	}
}
