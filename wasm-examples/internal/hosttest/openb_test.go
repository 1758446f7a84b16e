//go:build !wasip1

package hosttest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	hostmodule "github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// The plugins of the run on the trace, and their configurations. All of them change its result:
// TestRestOpenb checks that.
const (
	openbFilter, openbFilterConfig = "noisy-neighbour", `{"podsPerTenant": 4, "noisyPods": 6, "noisyMilliCPU": 40000}`
	openbScore, openbScoreConfig   = "zone-cost", `{"zones": {"zone-0": 10, "zone-1": 12.5, "zone-2": 30}}`
)

// openbDir returns the folder of the published trace, which is not part of the repository.
func openbDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("BERTH_OPENB_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "data", "openb")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%v; set BERTH_OPENB_DIR to the folder of the openb trace", err)
	}
	return dir
}

// openbInput returns the published trace with the labels that the plugins read: three zones, 20
// tenants, and noisy pods where the trace says best effort or burstable.
func openbInput(t testing.TB) *input.Trace {
	t.Helper()
	dir := openbDir(t)
	trace, err := input.LoadTrace(context.Background(), "openb", filepath.Join(dir, "openb_node_list_all_node.csv"), filepath.Join(dir, "openb_pod_list_default.csv"), input.TraceOptions{Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range trace.Nodes {
		n.Labels = maps.Clone(n.Labels)
		if n.Labels == nil {
			n.Labels = make(map[string]string)
		}
		n.Labels[v1.LabelTopologyZone] = fmt.Sprint("zone-", i%3)
	}
	for i, a := range trace.Arrivals {
		a.Pod.Namespace = fmt.Sprintf("tenant-%02d", i%20)
		if qos := a.Pod.Labels[input.QoSLabel]; qos == "BE" || qos == "Burstable" {
			a.Pod.Labels["berth.dev/noisy"] = "true"
		}
	}
	return trace
}

// The kinds of runs.
const (
	without    = "without"
	asNative   = "native"
	asModules  = "wasm"
	verifyRare = 1024 // as in cmd/app
)

// runOpenb schedules the trace without the plugins, or with them as host plugins or as modules.
func runOpenb(t testing.TB, trace *input.Trace, kind string, workers, verify int) *sim.Result {
	t.Helper()
	r, _ := runOpenbTwins(t, trace, kind, workers, verify)
	return r
}

// runOpenbTwins also returns the host plugins.
func runOpenbTwins(t testing.TB, trace *input.Trace, kind string, workers, verify int) (r *sim.Result, twins []*wasm.Plugin) {
	t.Helper()
	modules := assembly.NewModules(assembly.ModulesConfig{CacheDir: cacheDir(), VerifyEvery: verify})
	defer modules.Close(context.Background())
	c := assembly.Config{Reuse: equivalence.Default(),
		Seed: 42, Rank: func(node string) uint64 { return trace.NodeRank[node] },
		Scheduler: assembly.Default(), Modules: modules, Workers: workers, Plugins: plugin.Registry{},
	}
	for name, config := range map[string]string{openbFilter: openbFilterConfig, openbScore: openbScoreConfig} {
		if kind == without {
			continue
		}
		e := example(t, name)
		m, err := modules.Load(hostmodule.Reference{Path: file(t, e), Config: []byte(config), Weight: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Enable(c.Scheduler); err != nil {
			t.Fatal(err)
		}
		if kind == asModules {
			continue
		}
		// The same places in the profile, but plugins of the registry.
		for i := range c.Scheduler.Profiles {
			delete(c.Scheduler.Profiles[i].Args, name)
		}
		c.Plugins[name] = func(any) (plugin.Plugin, error) {
			p, err := newPlugin(t, e, native(t, e), wasm.Config{Config: []byte(config), Shards: max(workers, 1), VerifyEvery: verify})
			twins = append(twins, p)
			return p, err
		}
	}
	s, err := sim.New(sim.Config{Nodes: trace.Nodes, Arrivals: trace.Arrivals, Assembly: c})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, twin := range twins {
		if err := twin.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	for _, u := range r.Plugins {
		if u.Faults != 0 {
			t.Errorf("%s: plugin %s has %d faults", kind, u.Name, u.Faults)
		}
		if isWasm := u.Digest != ""; (u.Name == openbFilter || u.Name == openbScore) && isWasm != (kind == asModules) {
			t.Errorf("%s: plugin %s has the digest %q", kind, u.Name, u.Digest)
		}
	}
	return r, twins
}

func outcome(r *sim.Result) map[string]string {
	out := make(map[string]string)
	for _, p := range r.Placements {
		out[p.Pod] = p.Node
	}
	for _, p := range r.Unschedulable {
		out[p.Pod] = p.Message
	}
	return out
}

// TestRestOpenb: a filter and a score give the same placements and reasons on the trace as native
// code and as modules.
func TestRestOpenb(t *testing.T) {
	trace := openbInput(t)
	trace.Arrivals = trace.Arrivals[:len(trace.Arrivals)/openbPart]
	for i := range len(trace.Nodes) / openbPart {
		trace.Nodes[i] = trace.Nodes[i*openbPart] // of all kinds, which come one after the other
	}
	trace.Nodes = trace.Nodes[:len(trace.Nodes)/openbPart]
	bare := runOpenb(t, trace, without, 0, verifyRare)
	twin := runOpenb(t, trace, asNative, 0, verifyRare)
	guest := runOpenb(t, trace, asModules, 0, verifyRare)
	want := outcome(twin)
	if got := outcome(guest); !maps.Equal(want, got) {
		for pod, where := range want {
			if got[pod] != where {
				t.Errorf("pod %s: native %q, wasm %q", pod, where, got[pod])
			}
		}
	}
	if maps.Equal(want, outcome(bare)) {
		t.Error("the plugins change nothing, so the test is meaningless")
	}
	mentioned := 0
	for _, p := range guest.Unschedulable {
		if strings.Contains(p.Message, "node(s) had too m") {
			mentioned++
		}
	}
	if mentioned == 0 {
		t.Error("the filter is the reason of no pending pod")
	}
	for kind, r := range map[string]*sim.Result{without: bare, asNative: twin, asModules: guest} {
		text := ""
		for _, u := range r.Plugins {
			if u.Name == openbFilter || u.Name == openbScore {
				text += fmt.Sprintf("; %s %.2f s in %d calls, %d rows", u.Name, u.Seconds, u.Calls, u.Rows)
			}
		}
		t.Logf("%-8s %d of %d pods placed in %.2f s (%.0f pods/s, %d attempts)%s", kind, r.Summary.Scheduled, r.Summary.Pods,
			r.Summary.Seconds, r.Summary.PodsPerSecond, r.Summary.Attempts, text)
	}
	// The host writes the same, whatever language the guest is written in. The periodic check of
	// columns, which rewrites them, is disabled.
	counted, twins := runOpenbTwins(t, trace, asNative, 0, 0)
	for _, p := range twins {
		pods := float64(counted.Summary.Pods)
		t.Logf("%s: %.0f bytes written and %.1f guest calls per pod", p.Info().Name, float64(p.BytesWritten())/pods, float64(p.Calls())/pods)
	}
}

// TestRestOpenbWorkers: neither the number of workers, and so of instances, nor checking every call
// changes a placement. Only clusters of 4,096 rows or more are divided among workers.
func TestRestOpenbWorkers(t *testing.T) {
	trace := openbInput(t)
	for i, n := range trace.Nodes {
		for k := range 2 {
			twin := n.DeepCopy()
			twin.Name, twin.UID = fmt.Sprintf("%s-%d", n.Name, k), types.UID(fmt.Sprintf("%s-%d", n.UID, k))
			trace.Nodes = append(trace.Nodes, twin)
			trace.NodeRank[twin.Name] = uint64((k+1)*1000000 + i)
		}
	}
	trace.Arrivals = trace.Arrivals[:300]
	if race {
		trace.Arrivals = trace.Arrivals[:20]
	}
	want := outcome(runOpenb(t, trace, asModules, 1, 0))
	for workers := 2; workers <= 3; workers++ {
		if !maps.Equal(want, outcome(runOpenb(t, trace, asModules, workers, 1))) {
			t.Errorf("%d workers place pods differently than one", workers)
		}
	}
}

// BenchmarkOpenb runs the whole trace.
func BenchmarkOpenb(b *testing.B) {
	trace := openbInput(b)
	for _, kind := range []string{without, asNative, asModules} {
		b.Run("plugins="+kind, func(b *testing.B) {
			for b.Loop() {
				r := runOpenb(b, trace, kind, runtime.GOMAXPROCS(0), verifyRare)
				b.ReportMetric(r.Summary.PodsPerSecond, "pods/s")
				b.ReportMetric(r.Summary.Seconds, "s/run")
			}
		})
	}
}
