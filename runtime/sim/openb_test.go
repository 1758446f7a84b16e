package sim_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/record"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// openbDir returns the folder of the published trace, which is not part of the repository:
// $BERTH_OPENB_DIR, or shared/data/openb beside the checkout.
func openbDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("BERTH_OPENB_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data", "openb")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%v; set BERTH_OPENB_DIR to the folder of the openb trace", err)
	}
	return dir
}

// trace is an openb trace in two files. The tests read it with encoding/csv only: rows by name,
// fields by column.
type trace struct {
	nodesFile, podsFile string
	nodes, pods         map[string]map[string]string
}

func newTrace(t testing.TB, nodesFile, podsFile string) *trace {
	t.Helper()
	return &trace{nodesFile, podsFile, readRows(t, nodesFile, "sn"), readRows(t, podsFile, "name")}
}

func openb(t testing.TB) *trace {
	dir := openbDir(t)
	return newTrace(t, filepath.Join(dir, "openb_node_list_all_node.csv"), filepath.Join(dir, "openb_pod_list_default.csv"))
}

func readCSV(t testing.TB, file string) [][]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func readRows(t testing.TB, file, key string) map[string]map[string]string {
	rows := readCSV(t, file)
	out := make(map[string]map[string]string)
	for _, row := range rows[1:] {
		fields := make(map[string]string)
		for i, column := range rows[0] {
			fields[column] = row[i]
		}
		out[fields[key]] = fields
	}
	return out
}

// edited writes a variant of a CSV file: edit may change the fields of a row, by column, or
// drop the row. It gets the number of the row, from 0.
func edited(t testing.TB, file string, edit func(i int, row map[string]string) bool) string {
	t.Helper()
	rows := readCSV(t, file)
	out := rows[:1:1]
	for i, row := range rows[1:] {
		fields := make(map[string]string)
		for j, column := range rows[0] {
			fields[column] = row[j]
		}
		if !edit(i, fields) {
			continue
		}
		for j, column := range rows[0] {
			row[j] = fields[column]
		}
		out = append(out, row)
	}
	return writeCSV(t, filepath.Base(file), out)
}

func writeCSV(t testing.TB, name string, rows [][]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := csv.NewWriter(f).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return path
}

// run simulates the trace.
func (tr *trace) run(t testing.TB, o input.TraceOptions, edit func(c *sim.Config)) *sim.Result {
	t.Helper()
	loaded, err := input.LoadTrace(t.Context(), "openb", tr.nodesFile, tr.podsFile, o)
	if err != nil {
		t.Fatal(err)
	}
	c := sim.Config{
		Nodes: loaded.Nodes, Arrivals: loaded.Arrivals,
		Assembly: assembly.Config{Seed: uint64(o.Seed), Rank: func(node string) uint64 { return loaded.NodeRank[node] }},
	}
	if edit != nil {
		edit(&c)
	}
	return mustRun(t, c)
}

func mustRun(t testing.TB, c sim.Config) *sim.Result {
	t.Helper()
	s, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func number(t testing.TB, row map[string]string, column string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(row[column], 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", column, err)
	}
	return n
}

// load is milli-CPU, MiB, milli-GPU and pods.
type load [4]int64

func (l load) minus(m load) load {
	for i := range l {
		l[i] -= m[i]
	}
	return l
}

func (tr *trace) capacity(t testing.TB, node string) load {
	row := tr.nodes[node]
	return load{number(t, row, "cpu_milli"), number(t, row, "memory_mib"), 1000 * number(t, row, "gpu"), 1001}
}

func (tr *trace) request(t testing.TB, pod string) load {
	row := tr.pods[original(pod)]
	if row == nil {
		t.Fatalf("there is no pod %q in the list", pod)
	}
	return load{number(t, row, "cpu_milli"), number(t, row, "memory_mib"), number(t, row, "num_gpu") * number(t, row, "gpu_milli"), 1}
}

// original returns the name of the pod that a clone was made from.
func original(pod string) string {
	name, _, _ := strings.Cut(pod, "-tuned-")
	return name
}

// check compares a result with the lists: every pod is placed or has a reason, is on a node
// with a GPU of its model, and no node is ever over capacity. end returns when a pod leaves;
// nil for never.
func (tr *trace) check(t testing.TB, r *sim.Result, pods int, end func(pod string) time.Duration) {
	t.Helper()
	type change struct {
		at   time.Duration
		pod  string
		node string
		sign int64
	}
	seen := make(map[string]bool)
	account := func(pod string) {
		if seen[pod] || tr.pods[original(pod)] == nil {
			t.Errorf("pod %s is in the result twice, or not in the list", pod)
		}
		seen[pod] = true
	}
	var changes []change
	for _, p := range r.Placements {
		account(p.Pod)
		if spec := tr.pods[original(p.Pod)]["gpu_spec"]; spec != "" && !slices.Contains(strings.Split(spec, "|"), tr.nodes[p.Node]["model"]) {
			t.Errorf("pod %s wants a GPU of %s and is on %s, which has %q", p.Pod, spec, p.Node, tr.nodes[p.Node]["model"])
		}
		changes = append(changes, change{p.At, p.Pod, p.Node, 1})
		if end != nil {
			if p.At >= end(p.Pod) {
				t.Errorf("pod %s is placed at %v, and leaves at %v", p.Pod, p.At, end(p.Pod))
			}
			changes = append(changes, change{end(p.Pod), p.Pod, p.Node, -1})
		}
	}
	for _, p := range r.Unschedulable {
		account(p.Pod)
		if !strings.HasPrefix(p.Message, fmt.Sprintf("0/%d nodes are available: ", len(tr.nodes))) {
			t.Errorf("pod %s is pending with the message %q", p.Pod, p.Message)
		}
	}
	s := r.Summary
	if len(seen) != pods || s.Pods != pods || s.Scheduled != len(r.Placements) || s.Unschedulable != len(r.Unschedulable) || s.Nodes != len(tr.nodes) {
		t.Errorf("%d of %d pods are accounted for; the summary is %+v", len(seen), pods, s)
	}
	slices.SortStableFunc(changes, func(a, b change) int { // at the same time, pods leave before others come
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		return int(a.sign - b.sign)
	})
	used := make(map[string]load)
	for _, c := range changes {
		u, capacity := used[c.node], tr.capacity(t, c.node)
		for i, n := range tr.request(t, c.pod) {
			u[i] += c.sign * n
			if u[i] > capacity[i] {
				t.Fatalf("at %v node %s has %v of %v (milli-CPU, MiB, milli-GPU, pods)", c.at, c.node, u, capacity)
			}
		}
		used[c.node] = u
	}
}

func placed(r *sim.Result) map[string]string {
	out := make(map[string]string)
	for _, p := range r.Placements {
		out[p.Pod] = p.Node
	}
	return out
}

func TestRestOpenBWholeTrace(t *testing.T) {
	tr := openb(t)
	r := tr.run(t, input.TraceOptions{Seed: 42}, nil)
	tr.check(t, r, 8152, nil)
	if r.Summary.Nodes != 1523 || r.Summary.Scheduled < 8000 {
		t.Errorf("the summary is %+v", r.Summary)
	}
	t.Logf("%d pods placed in %.2f s, %.0f pods/s", r.Summary.Scheduled, r.Summary.Seconds, r.Summary.PodsPerSecond)
	// The sums in the result equal those of the lists.
	var want load
	for _, p := range r.Placements {
		for i, n := range tr.request(t, p.Pod) {
			want[i] += n
		}
	}
	want[1] <<= 20
	for i, name := range []string{"cpu", "memory", "berth.dev/gpu-milli", "pods"} {
		at := slices.IndexFunc(r.Usage, func(u sim.Usage) bool { return string(u.Resource) == name })
		if at < 0 || r.Usage[at].Requested != want[i] || r.Usage[at].Peak != want[i] {
			t.Errorf("usage of %s is %+v, want %d", name, r.Usage, want[i])
		}
	}
}

func TestRestOpenBSeedsAndWorkers(t *testing.T) {
	tr := openb(t)
	run := func(seed int64, workers int) map[string]string {
		return placed(tr.run(t, input.TraceOptions{Seed: seed}, func(c *sim.Config) { c.Assembly.Workers = workers }))
	}
	first := run(42, 1)
	for _, workers := range []int{2, 8} {
		if !maps.Equal(first, run(42, workers)) {
			t.Errorf("with %d workers the placements are others than with one", workers)
		}
	}
	if maps.Equal(first, run(43, 1)) {
		t.Error("another seed gives the same placements")
	}
}

// TestRestOpenBReplay: each decision of the trace is made again from its recording.
func TestRestOpenBReplay(t *testing.T) {
	var recording bytes.Buffer
	w, err := record.NewWriter(&recording, record.Config{Ended: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	r := openb(t).run(t, input.TraceOptions{Seed: 42}, func(c *sim.Config) { c.Recorder = w })
	w.Close()
	for _, workers := range []int{1, 8} {
		if again := replayed(t, recording.Bytes(), workers); uint64(again.Decisions) != r.Summary.Attempts || again.Placed != r.Summary.Scheduled {
			t.Errorf("%d workers: %+v, recorded was %+v", workers, again, r.Summary)
		}
	}
}

// Only clusters of 4,096 rows or more are divided among workers.
func TestRestOpenBWorkersOnManyNodes(t *testing.T) {
	base := openb(t)
	rows := readCSV(t, base.nodesFile)
	many := rows[:1:1]
	for copy := range 4 {
		for _, row := range rows[1:] {
			row = slices.Clone(row)
			row[0] = fmt.Sprintf("%s-%d", row[0], copy)
			many = append(many, row)
		}
	}
	tr := newTrace(t, writeCSV(t, "nodes.csv", many), edited(t, base.podsFile, func(i int, _ map[string]string) bool { return i%8 == 0 }))
	var first map[string]string
	for _, workers := range []int{1, 2, 8} {
		r := tr.run(t, input.TraceOptions{Seed: 1}, func(c *sim.Config) { c.Assembly.Workers = workers })
		tr.check(t, r, 1019, nil)
		if first == nil {
			first = placed(r)
		} else if !maps.Equal(first, placed(r)) {
			t.Errorf("with %d workers the placements are others than with one", workers)
		}
	}
}

// A list in which many pods name models, as in the gpuspec lists of the trace.
func TestRestOpenBModels(t *testing.T) {
	base := openb(t)
	specs := []string{"", "T4", "G2|G3", "V100M16|V100M32", "P100", "", "G2", "A10"}
	tr := newTrace(t, base.nodesFile, edited(t, base.podsFile, func(i int, row map[string]string) bool {
		if row["num_gpu"] != "0" {
			row["gpu_spec"] = specs[i%len(specs)]
		}
		return true
	}))
	r := tr.run(t, input.TraceOptions{Seed: 42}, nil)
	tr.check(t, r, 8152, nil)
	constrained, affine := 0, 0
	for _, p := range r.Placements {
		if tr.pods[p.Pod]["gpu_spec"] != "" {
			constrained++
		}
	}
	for _, p := range r.Unschedulable {
		if strings.Contains(p.Message, "node(s) didn't match Pod's node affinity/selector") {
			affine++
		}
	}
	if constrained < 1000 || affine == 0 {
		t.Errorf("%d pods that name a model are placed and %d are not; want some of each", constrained, affine)
	}
}

// With few nodes, pods wait for others to leave.
func TestRestOpenBDepartures(t *testing.T) {
	base := openb(t)
	tr := newTrace(t, edited(t, base.nodesFile, func(i int, row map[string]string) bool { return row["gpu"] != "0" && i%151 == 0 }), base.podsFile)
	seconds := func(pod, column string) time.Duration {
		return time.Duration(number(t, tr.pods[pod], column)) * time.Second
	}
	start := seconds("openb-pod-0000", "creation_time")
	for pod := range tr.pods {
		start = min(start, seconds(pod, "creation_time"))
	}
	end := func(pod string) time.Duration {
		return max(seconds(pod, "deletion_time"), seconds(pod, "creation_time")+1) - start
	}
	r := tr.run(t, input.TraceOptions{Seed: 42, Departures: true}, nil)
	tr.check(t, r, 8152, end)
	waited, long := 0, 0
	for _, p := range r.Placements {
		switch late := p.At - (seconds(p.Pod, "creation_time") - start); {
		case late < 0:
			t.Errorf("pod %s is placed %v before it comes", p.Pod, -late)
		case late > time.Hour:
			long++
			fallthrough
		case late > 0:
			waited++
		}
	}
	// No pod waits while it fits a node: between arriving and being placed, or leaving, there is
	// never a node with room for it. The test samples the pods that waited.
	type stay struct {
		from, until time.Duration
		load        load
	}
	stays := make(map[string][]stay)
	times := []time.Duration{}
	at := make(map[string]time.Duration)
	for _, p := range r.Placements {
		at[p.Pod] = p.At
		stays[p.Node] = append(stays[p.Node], stay{p.At, end(p.Pod), tr.request(t, p.Pod)})
		times = append(times, p.At, end(p.Pod))
	}
	looked := 0
	for i, pod := range slices.Sorted(maps.Keys(tr.pods)) {
		from, until := seconds(pod, "creation_time")-start, end(pod)
		if p, ok := at[pod]; ok {
			until = p
		}
		if i%53 != 0 || from == until {
			continue
		}
		looked++
		for _, now := range append(times, from) {
			if now < from || now >= until {
				continue
			}
			for node := range tr.nodes {
				free := tr.capacity(t, node).minus(tr.request(t, pod))
				for _, s := range stays[node] {
					if s.from <= now && now < s.until {
						free = free.minus(s.load)
					}
				}
				if slices.Min(free[:]) >= 0 {
					t.Fatalf("pod %s waits from %v to %v, but at %v it fits on %s", pod, from, until, now, node)
				}
			}
		}
	}
	if looked < 20 {
		t.Errorf("looked at %d pods only that waited", looked)
	}
	if waited == 0 || long == 0 {
		t.Errorf("%d pods waited for a place, %d of them for more than an hour; want some", waited, long)
	}
	t.Logf("%d nodes, %d placed, %d waited, %d of them more than an hour, %d attempts", len(tr.nodes), len(r.Placements), waited, long, r.Summary.Attempts)
}

// The published experiment: each pod of the inflated list is tried once.
func TestRestOpenBInflatedOnce(t *testing.T) {
	dir := openbDir(t)
	tr := newTrace(t, filepath.Join(dir, "openb_node_list_gpu_node.csv"), filepath.Join(dir, "openb_pod_list_default.csv"))
	r := tr.run(t, input.TraceOptions{Seed: 42, Inflate: 1.3, Shuffle: true}, func(c *sim.Config) {
		c.Attempts, c.Assembly.TieBreak = 1, cycle.First
	})
	tr.check(t, r, 10866, nil)
	if r.Summary.Attempts != 10866 {
		t.Errorf("%d attempts, want one a pod", r.Summary.Attempts)
	}
	t.Logf("%d pods placed in %.2f s, %.0f pods/s", r.Summary.Scheduled, r.Summary.Seconds, r.Summary.PodsPerSecond)
}

// BenchmarkSimulate simulates the default trace on 1,523 nodes.
func BenchmarkSimulate(b *testing.B) {
	tr := openb(b)
	for b.Loop() {
		r := tr.run(b, input.TraceOptions{Seed: 42}, nil)
		b.ReportMetric(r.Summary.PodsPerSecond, "pods/s")
	}
}
