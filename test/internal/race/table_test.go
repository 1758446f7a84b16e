package race_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/race"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

func TestWriteTable(t *testing.T) {
	basic, err := workload.ByName("basic")
	if err != nil {
		t.Fatal(err)
	}
	leg := race.Leg{Workload: basic, Nodes: 1000, Mode: race.Stream, Pods: 2000}
	result := func(program cluster.Program, rate float64, p99 time.Duration) race.Result {
		return race.Result{
			Leg: leg, Scheduler: program, PodsPerSecond: rate, P50: 40 * time.Millisecond, P99: p99,
			CPUPerPod: 1500 * time.Microsecond, PeakMemory: 100 << 20,
		}
	}
	var out strings.Builder
	if err := race.WriteTable(&out, []race.Result{
		result(cluster.UpstreamProgram, 100, time.Second), result(cluster.BerthProgram, 300, time.Second),
		result(cluster.BerthProgram, 500, 2*time.Second), result(cluster.UpstreamProgram, 120, time.Second),
	}); err != nil {
		t.Fatal(err)
	}
	want := `| pods | nodes | how they come | scheduler | pods/s | p50 | p99 | CPU ms/pod | peak MiB |
|---|---:|---|---|---:|---:|---:|---:|---:|
| basic | 1000 | stream of 2000 | kube-scheduler | 110 | 40 ms | 1.0 s | 1.50 | 100 |
| basic | 1000 | stream of 2000 | berth | 400 | 40 ms | 1.5 s | 1.50 | 100 |
`
	if out.String() != want {
		t.Errorf("got\n%s", &out)
	}
}
