package schedulerperf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const upstreams = `
- name: Basic
  labels: [short]
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: createNodes, count: 2}
  - {opcode: createPods, countParam: $pods, collectMetrics: true}
  workloads:
  - {name: 5Nodes, labels: [integration-test], params: {nodes: 5, pods: 1}}
  - {name: 500Nodes, labels: [performance], threshold: 270, params: {nodes: 500, pods: 100}}
- name: Gated
  featureGates: {Old: true, New: true}
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: startCollectingMetrics}
  - {opcode: createPods, countParam: $pods}
  - {opcode: stopCollectingMetrics}
  workloads:
  - {name: Enabled, labels: [performance], threshold: {dra_x: 7, other: 8}, params: {nodes: 50, pods: 10}}
  - {name: Disabled, labels: [performance], featureGates: {New: false}, params: {nodes: 50, pods: 10}}
`

func TestParse(t *testing.T) {
	got, err := parse("dra/x", []byte(upstreams))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 {
		t.Fatalf("got %v, want the three that are labelled", got)
	}
	if w := got[0]; w.String() != "dra/x/Basic/500Nodes" || w.Nodes != 502 || w.Threshold != 270 || !w.Short {
		t.Errorf("got %+v", w)
	}
	if w := got[1]; w.Nodes != 50 || w.Threshold != 7 || w.Short || !w.Gates["Old"] || !w.Gates["New"] {
		t.Errorf("got %+v", w)
	}
	if w := got[2]; w.Threshold != 0 || !w.Gates["Old"] || w.Gates["New"] {
		t.Errorf("got %+v", w)
	}
	twice := strings.Replace(upstreams, "countParam: $pods, collect", "collectMetrics: true}\n  - {opcode: createPods, collect", 1)
	if _, err := parse("p", []byte(twice)); err == nil || !strings.Contains(err.Error(), "Basic collects metrics 2 times") {
		t.Errorf("got %v", err)
	}
}

// TestApply: a line of the file or an unusual gate leaves a workload out, and a line must leave one out.
func TestApply(t *testing.T) {
	all, err := parse("p", []byte(upstreams))
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]bool{"Old": true, "New": true}
	run, left, err := apply(all, []skip{{"p/Basic", "slow"}}, defaults)
	if err != nil || len(run) != 1 || run[0].Name != "Gated/Enabled" || len(left) != 2 {
		t.Fatalf("got %v, %v, %v", run, left, err)
	}
	if left[0].Reason != "slow" || !strings.HasPrefix(left[1].Reason, "needs New=false against the default") {
		t.Errorf("got %q and %q", left[0].Reason, left[1].Reason)
	}
	if _, _, err := apply(all, []skip{{"p/Bas", "slow"}}, defaults); err == nil || !strings.Contains(err.Error(), "no workload p/Bas to leave out") {
		t.Errorf("got %v", err)
	}
	run, _, err = apply(all, nil, defaults)
	if err != nil {
		t.Fatal(err)
	}
	if got, left, err := only(run, []string{"p/Gated", "p"}); err != nil || len(got) != 2 || got[0].Name != "Gated/Enabled" || len(left) != 0 {
		t.Errorf("got %v, %v, %v", got, left, err)
	}
	if got, left, err := only(run, []string{"p/Gated"}); err != nil || len(got) != 1 || len(left) != 1 || left[0].Workload.Name != "Basic/500Nodes" {
		t.Errorf("got %v, %v, %v", got, left, err)
	}
	if _, _, err := only(run, []string{"p/Gat"}); err == nil || !strings.Contains(err.Error(), `"p/Gat"`) {
		t.Errorf("got %v", err)
	}
}

// TestOneOfEach: the first workload with a threshold is kept of each test case.
func TestOneOfEach(t *testing.T) {
	all := []*Workload{
		{Package: "p", Name: "A/1"}, {Package: "p", Name: "A/2/x", Threshold: 5}, {Package: "p", Name: "A/3", Threshold: 6},
		{Package: "p", Name: "B/1"}, {Package: "p", Name: "B/2"}, {Package: "q", Name: "A/1"},
	}
	kept, left := oneOfEach(all)
	if len(kept) != 3 || kept[0] != all[1] || kept[1] != all[3] || kept[2] != all[5] || len(left) != 3 || left[0].Workload != all[0] {
		t.Errorf("got %v and %v", kept, left)
	}
}

func TestScaled(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 10: 1, 51: 2, 5000: 100} {
		if got := scaled(n, 0.02); got != want {
			t.Errorf("%d: got %d, want %d", n, got, want)
		}
	}
}

const (
	metricsBefore = `# HELP process_cpu_seconds_total of the process
process_cpu_seconds_total 2.5
scheduler_schedule_attempts_total{profile="a",result="scheduled"} 100
scheduler_scheduling_attempt_duration_seconds_count{result="scheduled"} 100
scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter"} 100
scheduler_plugin_execution_duration_seconds_count{plugin="A"} 1
scheduler_event_handling_duration_seconds_count{event="NodeAdd"} 5
`
	metricsAfter = `process_cpu_seconds_total 4.5
scheduler_schedule_attempts_total{profile="a",result="scheduled"} 300
scheduler_schedule_attempts_total{profile="a",result="unschedulable"} 7
scheduler_schedule_attempts_total{profile="b",result="scheduled"} 200
scheduler_scheduling_attempt_duration_seconds_bucket{result="scheduled",le="+Inf"} 1e+03
scheduler_scheduling_attempt_duration_seconds_count{result="scheduled"} 500
scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter"} 500
scheduler_plugin_execution_duration_seconds_count{plugin="A"} 50
scheduler_event_handling_duration_seconds_count{event="NodeAdd"} 6
`
	results = `{"version":"v1","dataItems":[
{"data":{"Average":190.5},"unit":"pods/s","labels":{"Metric":"SchedulingThroughput","Name":"x"}},
{"data":{"Pods":400,"Seconds":2,"Samples":2},"labels":{"Metric":"Placed","Name":"x"}},
{"data":{"Duration":3},"labels":{"Metric":"SchedulingDuration","Name":"x"}}]}`
)

// TestSince: series are subtracted one by one, and one that is new has grown from nothing.
func TestSince(t *testing.T) {
	before, err := readSeries(metricsBefore)
	if err != nil {
		t.Fatal(err)
	}
	after, err := readSeries(metricsAfter)
	if err != nil {
		t.Fatal(err)
	}
	grown := after.since(before)
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"process_cpu_seconds_total", nil, 2},
		{"scheduler_schedule_attempts_total", nil, 407},
		{"scheduler_schedule_attempts_total", []string{`result="scheduled"`}, 400},
		{"scheduler_schedule_attempts_total", []string{`result="scheduled"`, `profile="b"`}, 200},
		{"scheduler_schedule_attempts_total", []string{`result="sched`, `profile="c"`}, 0},
		{"scheduler_schedule_attempts", nil, 0},
		{"scheduler_scheduling_attempt_duration_seconds_bucket", nil, 1000},
	} {
		if got := grown.sum(c.name, c.labels...); got != c.want {
			t.Errorf("%s %v: got %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	if _, err := readSeries("broken\n"); err == nil {
		t.Error("a line without a value is no error")
	}
}

// TestRead: a result is figures and metrics; a metric that is missing, or did not grow, is an error with its name.
func TestRead(t *testing.T) {
	folder := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	got, err := read(folder(map[string]string{"before": metricsBefore, "after": metricsAfter, "a.json": results}))
	if want := (Result{Pods: 400, PodsPerSecond: 200, Sampled: 190.5, CPUPerPod: 5 * time.Millisecond}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for want, files := range map[string]map[string]string{
		"did not end": {"before": metricsBefore, "a.json": results},
		"metric scheduler_plugin_execution_duration_seconds_count is missing": {
			"before": metricsBefore, "a.json": results, "after": strings.Replace(metricsAfter, "scheduler_plugin_execution", "other", 1),
		},
		"metric process_cpu_seconds_total is missing": {"before": metricsAfter, "after": metricsAfter, "a.json": results},
		"0 files of results":                          {"before": metricsBefore, "after": metricsAfter},
		"no pods were placed":                         {"before": metricsBefore, "after": metricsAfter, "a.json": `{"dataItems":[]}`},
		"500 pods were placed, and scheduler_schedule_attempts_total says 400": {
			"before": metricsBefore, "after": metricsAfter, "a.json": strings.Replace(results, "400", "500", 1),
		},
	} {
		if _, err := read(folder(files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestFailures(t *testing.T) {
	if err := failures("--- BENCH: BenchmarkPerfScheduling/a\n"); err != nil {
		t.Errorf("got %v", err)
	}
	err := failures("noise.go:1: x\n--- FAIL: BenchmarkPerfScheduling/a\n" +
		"    gate.go:2: I1125 23:05:31.379182] Updated\n    util.go:117: FATAL ERROR:\n        \tno path\n    scheduler_perf.go:9: the metrics are gone\n" +
		"--- FAIL: BenchmarkPerfScheduling\n    scheduler_perf.go:619: full log output:\n  noise\n")
	if want := "the benchmark fails: util.go:117: FATAL ERROR: no path; scheduler_perf.go:9: the metrics are gone"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestMisses: each target is missed on its own, and one that kube-scheduler misses is none.
func TestMisses(t *testing.T) {
	result := func(rate, sampled float64, cpu time.Duration) Result {
		return Result{Pods: 1, PodsPerSecond: rate, Sampled: sampled, CPUPerPod: cpu}
	}
	w := &Workload{Package: "p", Name: "n", Threshold: 100}
	for name, c := range map[string]struct {
		theirs, ours Result
		want         string
	}{
		"all reached":                {result(200, 200, 4), result(190, 190, 2), ""},
		"CPU":                        {result(200, 200, 4), result(200, 200, 3), "CPU a pod is 0.75"},
		"rate":                       {result(200, 200, 4), result(180, 180, 2), "pods/s are 0.90"},
		"threshold":                  {result(101, 101, 4), result(101, 100, 2), "100 pods/s do not reach the threshold of 100"},
		"without samples":            {result(101, 0, 4), result(100, 0, 2), "do not reach the threshold"},
		"threshold of neither":       {result(90, 90, 4), result(90, 90, 2), ""},
		"threshold only Berth makes": {result(90, 90, 4), result(110, 110, 2), ""},
	} {
		row := &Row{Workload: w, Theirs: c.theirs, Ours: c.ours}
		got := strings.Join(row.Misses(), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		report := &Report{Rows: []*Row{row}}
		if err := report.Verdict(true); (err == nil) != (c.want == "") {
			t.Errorf("%s: got %v", name, err)
		}
		if err := report.Verdict(false); err != nil {
			t.Errorf("%s: targets do not count, got %v", name, err)
		}
	}
}

// TestPage: the page has a row for each workload, what was missed, and what was left out.
func TestPage(t *testing.T) {
	w := &Workload{Package: "misc", Name: "Basic/5000Nodes", Threshold: 270}
	report := &Report{
		Scale: 0.5, Command: Config{Scale: 0.5, OneOfEach: true}.command(), Took: 90 * time.Second, Load: 27.4,
		Rows: []*Row{
			{Workload: w, Nodes: 2500, Theirs: Result{100, 280, 280, 4 * time.Millisecond}, Ours: Result{100, 400, 250, time.Millisecond}},
			{Workload: &Workload{Package: "misc", Name: "Other/1"}, Failed: os.ErrNotExist},
		},
		Left: []Left{{&Workload{Package: "dra", Name: "Claims/1"}, "too new"}, {&Workload{Package: "dra", Name: "Claims/2"}, "too new"}},
	}
	var b strings.Builder
	if err := report.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| misc/Basic/5000Nodes | 2500 | 100 | 270 (Berth: no) | 280 | 400 | 4.00 | 1.00 | 0.25 |\n",
		"- `misc/Basic/5000Nodes`: 250 pods/s do not reach the threshold of 270",
		"- `misc/Other/1`: file does not exist",
		"- too new (2): `dra/Claims`\n",
		"took 2 minutes. The load average was 27. If", "```\nmake scheduler-perf SIZE=0.5 EACH=1\n```",
		"uses 0.25 (from 0.25 to 0.25) of the CPU per pod",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
	if err := report.Verdict(false); err == nil || !strings.Contains(err.Error(), "misc/Other/1") {
		t.Errorf("a workload that could not be measured: got %v", err)
	}
}
