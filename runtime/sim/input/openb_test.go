package input

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// openbDir returns the folder of the published trace, which is not part of the repository:
// $BERTH_OPENB_DIR, or shared/data/openb beside the checkout.
func openbDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("BERTH_OPENB_DIR")
	if dir == "" {
		root, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
				break
			}
			if root == filepath.Dir(root) {
				t.Skip("no go.mod above the package; set BERTH_OPENB_DIR to the folder of the openb trace")
			}
			root = filepath.Dir(root)
		}
		dir = filepath.Join(filepath.Dir(root), "shared", "data", "openb")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%v; set BERTH_OPENB_DIR to the folder of the openb trace", err)
	}
	return dir
}

func loadOpenB(t testing.TB, o TraceOptions) *Trace {
	t.Helper()
	dir := openbDir(t)
	trace, err := LoadTrace(t.Context(), "openb", filepath.Join(dir, "openb_node_list_gpu_node.csv"), filepath.Join(dir, "openb_pod_list_default.csv"), o)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func podNames(t *Trace) []string {
	names := make([]string, len(t.Arrivals))
	for i, a := range t.Arrivals {
		names[i] = a.Pod.Name
	}
	return names
}

// The check values of the published experiment.
func TestOpenBPublishedOrder(t *testing.T) {
	trace := loadOpenB(t, TraceOptions{Seed: 42, Inflate: 1.3, Shuffle: true})
	names := podNames(trace)
	if len(names) != 10866 {
		t.Fatalf("%d pods, want 10866", len(names))
	}
	first := []string{"openb-pod-0255", "openb-pod-1685", "openb-pod-6784", "openb-pod-4463", "openb-pod-0602"}
	last := []string{"openb-pod-7197-tuned-2712", "openb-pod-5877-tuned-2713"}
	if !slices.Equal(names[:5], first) || !slices.Equal(names[10864:], last) {
		t.Errorf("first %v, last %v; want %v and %v", names[:5], names[10864:], first, last)
	}
	const want = "c4da0ec090f40bf3a4e7e3624d38d067bebdd463fd0cbf3dc69e8d3915982dd7"
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(names, "\n")+"\n"))); got != want {
		t.Errorf("sha256 of the names is %s, want %s", got, want)
	}
	var milli int64
	for _, a := range trace.Arrivals {
		q := a.Pod.Spec.Containers[0].Resources.Requests[GPUResource]
		milli += q.Value()
	}
	if milli != 8075080 {
		t.Errorf("%d milli-GPU, want 8075080", milli)
	}
	for name, rank := range map[string]uint64{"openb-node-0000": 601, "openb-node-0001": 815} {
		if trace.NodeRank[name] != rank {
			t.Errorf("rank of %s is %d, want %d", name, trace.NodeRank[name], rank)
		}
	}
	order := make([]string, len(trace.NodeRank))
	for name, rank := range trace.NodeRank {
		order[rank] = strings.TrimPrefix(name, "openb-node-")
	}
	if want := []string{"0260", "0858", "0619", "0582", "0882", "1135"}; !slices.Equal(order[:6], want) {
		t.Errorf("node order begins %v, want %v", order[:6], want)
	}
}

func TestOpenBCountsOfSeeds(t *testing.T) {
	for i, want := range []int{10793, 10863, 10813, 10814, 10831, 10805, 10835, 10766, 10859} {
		seed := int64(43 + i)
		if got := len(loadOpenB(t, TraceOptions{Seed: seed, Inflate: 1.3, Shuffle: true}).Arrivals); got != want {
			t.Errorf("seed %d: %d pods, want %d", seed, got, want)
		}
	}
}

// The totals of the published trace.
func TestOpenBTotals(t *testing.T) {
	trace := loadOpenB(t, TraceOptions{})
	var gpu, cpu, mib, asked, askedCPU int64
	for _, n := range trace.Nodes {
		a := n.Status.Allocatable
		gpu += a.Name(GPUResource, "").Value()
		cpu += a.Cpu().MilliValue()
		mib += a.Memory().Value() >> 20
		if a.Pods().Value() != 1001 {
			t.Fatalf("%s has %v pod slots, want 1001", n.Name, a.Pods())
		}
	}
	for _, a := range trace.Arrivals {
		r := a.Pod.Spec.Containers[0].Resources.Requests
		asked += r.Name(GPUResource, "").Value()
		askedCPU += r.Cpu().MilliValue()
	}
	got := []int64{int64(len(trace.Nodes)), gpu, cpu, mib, int64(len(trace.Arrivals)), asked, askedCPU}
	want := []int64{1213, 6212000, 107018000, 503828480, 8152, 6086800, 85436012}
	if !slices.Equal(got, want) {
		t.Errorf("nodes, milli-GPU, milli-CPU, MiB, pods, asked milli-GPU and milli-CPU are %v, want %v", got, want)
	}
	if !slices.IsSorted(podNames(trace)) {
		t.Error("without shuffle the arrivals are not sorted by name")
	}
}

// All files of the trace load, with departures, sorted by time.
func TestOpenBDepartures(t *testing.T) {
	dir := openbDir(t)
	trace, err := LoadTrace(t.Context(), "openb", filepath.Join(dir, "openb_node_list_all_node.csv"), filepath.Join(dir, "openb_pod_list_cpu100.csv"),
		TraceOptions{Departures: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(trace.Nodes) != 1523 || trace.Arrivals[0].At != 0 {
		t.Errorf("%d nodes, first arrival at %v; want 1523 and 0s", len(trace.Nodes), trace.Arrivals[0].At)
	}
	var before time.Duration
	for _, a := range trace.Arrivals {
		if a.At < before || a.Until != 0 && a.Until <= a.At {
			t.Fatalf("%s arrives at %v after %v and leaves at %v", a.Pod.Name, a.At, before, a.Until)
		}
		before = a.At
	}
}
