package race_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/race"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// TestWritePairs: pairs are made of runs that followed each other, and legs with one pair are
// left out.
func TestWritePairs(t *testing.T) {
	result := func(name string, program cluster.Program, rate float64, cpu time.Duration) race.Result {
		kind, err := workload.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return race.Result{Leg: race.Leg{Workload: kind, Nodes: 5000, Mode: race.Stream, Pods: 2000}, Scheduler: program, PodsPerSecond: rate, CPUPerPod: cpu, P99: cpu}
	}
	var out strings.Builder
	if err := race.WritePairs(&out, []race.Result{
		result("basic", cluster.BerthProgram, 400, time.Millisecond), result("basic", race.WithPlugins, 400, 1100*time.Microsecond),
		result("basic", race.WithPlugins, 190, 2420*time.Microsecond), result("basic", cluster.BerthProgram, 200, 2*time.Millisecond),
		result("basic", cluster.BerthProgram, 300, time.Millisecond), result("basic", race.WithPlugins, 285, 1000*time.Microsecond),
		result("spread", cluster.BerthProgram, 300, time.Millisecond), result("spread", race.WithPlugins, 285, 1000*time.Microsecond),
	}); err != nil {
		t.Fatal(err)
	}
	want := `
| with plugins / without | pods | pairs | CPU a pod | 95 % | pods/s | 95 % | p99 | 95 % |
|---|---|---:|---:|---:|---:|---:|---:|---:|
| stream, 5,000 nodes | basic | 3 | 1.10 | 0.87 to 1.39 | 0.97 | 0.90 to 1.04 | 1.10 | 0.87 to 1.39 |
`
	if out.String() != want {
		t.Errorf("got\n%s", &out)
	}
	out.Reset()
	if err := race.WritePairs(&out, []race.Result{result("basic", cluster.BerthProgram, 400, time.Millisecond)}); err != nil || out.Len() > 0 {
		t.Errorf("without plugins: %q, %v", out.String(), err)
	}
}
