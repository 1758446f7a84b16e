package race_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
	"github.com/berth-scheduler/berth/test/internal/race"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

func TestWriteTable(t *testing.T) {
	result := func(name string, program cluster.Program, rate float64, p99 time.Duration) race.Result {
		kind, err := workload.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return race.Result{
			Leg: race.Leg{Workload: kind, Nodes: 1000, Mode: race.Stream, Pods: 2000}, Scheduler: program,
			PodsPerSecond: rate, P50: 40 * time.Millisecond, P99: p99, CPUPerPod: 1500 * time.Microsecond, PeakMemory: 100 << 20,
		}
	}
	var out strings.Builder
	if err := race.WriteTable(&out, []race.Result{
		result("basic", cluster.UpstreamProgram, 100, time.Second), result("basic", cluster.BerthProgram, 300, time.Second),
		result("basic", cluster.BerthProgram, 500, 2*time.Second), result("basic", cluster.UpstreamProgram, 120, time.Second),
		result("spread", cluster.UpstreamProgram, 90, time.Second),
	}); err != nil {
		t.Fatal(err)
	}
	want := `| | pods | pods/s: kube-scheduler | Berth | p50: kube-scheduler | Berth | p99: kube-scheduler | Berth | CPU ms a pod: kube-scheduler | Berth | peak MiB: kube-scheduler | Berth |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| stream, 1,000 nodes | basic | 110 | 400 | 40 ms | 40 ms | 1.0 s | 1.5 s | 1.50 | 1.50 | 100 | 100 |
|  | spread | 90 |  | 40 ms |  | 1.0 s |  | 1.50 |  | 100 |  |
`
	if out.String() != want {
		t.Errorf("got\n%s", &out)
	}
}

// TestPage reads the results back from the table of docs/race.md: written again, it is
// the same.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "race.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := ""
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "|") {
			table += line
		} else if table != "" {
			break // another one may follow, of pairs
		}
	}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) < 3 {
		t.Fatalf("there is no table in docs/race.md:\n%s", table)
	}
	var results []race.Result
	how := ""
	for _, line := range lines[2:] {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if strings.HasPrefix(line, "|  |") {
			cells = append([]string{how}, cells...)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 12 {
			t.Fatalf("%d cells in %s", len(cells), line)
		}
		how = cells[0]
		mode, nodes, _ := strings.Cut(how, ", ")
		leg := race.Leg{Mode: race.Mode(mode), Nodes: int(number(t, strings.NewReplacer(",", "", " nodes", "").Replace(nodes)))}
		if leg.Workload, err = workload.ByName(cells[1]); err != nil {
			t.Fatal(err)
		}
		for i, program := range []cluster.Program{cluster.UpstreamProgram, cluster.BerthProgram} {
			results = append(results, race.Result{
				Leg: leg, Scheduler: program, PodsPerSecond: number(t, cells[2+i]), P50: took(t, cells[4+i]), P99: took(t, cells[6+i]),
				CPUPerPod: time.Duration(number(t, cells[8+i]) * float64(time.Millisecond)), PeakMemory: int64(number(t, cells[10+i])) << 20,
			})
		}
	}
	var out strings.Builder
	if err := race.WriteTable(&out, results); err != nil {
		t.Fatal(err)
	}
	if out.String() != table {
		t.Errorf("docs/race.md has\n%s, and make race writes\n%s", table, &out)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func took(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
