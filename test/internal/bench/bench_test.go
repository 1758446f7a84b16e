package bench_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/test/internal/bench"
	"github.com/berth-scheduler/berth/test/internal/native"
	"github.com/berth-scheduler/berth/test/internal/oracle"
	"github.com/berth-scheduler/berth/test/internal/scenario"
	"github.com/berth-scheduler/berth/test/internal/world"
)

// cluster is a world of so many nodes.
func cluster(tb testing.TB, nodes int) *world.World {
	tb.Helper()
	w := world.New()
	o := bench.Cluster(nodes)
	if err := w.Apply(&scenario.Step{Set: o}); err != nil {
		tb.Fatal(err)
	}
	return w
}

// perNode returns the plugins that work per node.
func perNode() []string {
	var out []string
	for _, name := range oracle.Plugins() {
		points := native.Points(name)
		if slices.Contains(points, abi.Filter) || slices.Contains(points, abi.Score) {
			out = append(out, name)
		}
	}
	return out
}

// BenchmarkPlugin is one pass of one pod over all nodes.
func BenchmarkPlugin(b *testing.B) {
	klog.SetLogger(logr.Discard())
	for _, nodes := range []int{1000, 5000} {
		w := cluster(b, nodes)
		for _, plugin := range perNode() {
			pods := bench.Pods(plugin)
			name := fmt.Sprintf("plugin=%s/nodes=%d", plugin, nodes)
			b.Run(name+"/impl=berth", func(b *testing.B) {
				p, err := bench.NewOurs(w, plugin, pods)
				if err != nil {
					b.Fatal(err)
				}
				passes(b, p.Change, p.Run)
			})
			b.Run(name+"/impl=kube-scheduler", func(b *testing.B) {
				p, err := bench.NewTheirs(b.Context(), w, plugin, pods)
				if err != nil {
					b.Fatal(err)
				}
				passes(b, func(i int) error { return p.Change(b.Context(), i) }, func(i int) (bench.Outcome, error) { return p.Run(b.Context(), i) })
			})
		}
	}
}

// passes measures passes after the first one, which builds what is cached. A node changes
// before each. The median is reported, because it is more robust than the mean on a machine
// that does other work.
func passes(b *testing.B, change func(i int) error, run func(i int) (bench.Outcome, error)) {
	_, err := run(0)
	var took []time.Duration
	for i := 1; b.Loop(); i++ {
		if err == nil {
			err = change(i)
		}
		began := time.Now()
		if err == nil {
			_, err = run(i)
		}
		took = append(took, time.Since(began))
	}
	if err != nil {
		b.Fatal(err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "ns/pass")
	b.ReportMetric(0, "ns/op") // which counts the changes
}

// TestSameWork: both have the same results, and every plugin has something to do.
func TestSameWork(t *testing.T) {
	klog.SetLogger(logr.Discard())
	const nodes = 200
	w := cluster(t, nodes)
	for _, name := range perNode() {
		pods := bench.Pods(name)
		ours, err := bench.NewOurs(w, name, pods)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := bench.NewTheirs(t.Context(), w, name, pods)
		if err != nil {
			t.Fatal(err)
		}
		worked := false
		for i := range pods {
			if err := errors.Join(ours.Change(i), theirs.Change(t.Context(), i)); err != nil {
				t.Fatal(err)
			}
			a, errA := ours.Run(i)
			b, errB := theirs.Run(t.Context(), i)
			if errA != nil || errB != nil {
				t.Fatalf("%s: pod %d: %v, %v", name, i, errA, errB)
			}
			if a != b {
				t.Errorf("%s: pod %d: ours %+v, kube-scheduler %+v", name, i, a, b)
			}
			worked = worked || b.Total != 0 || b.Feasible != nodes
		}
		if !worked && name != "NodeName" && name != "NodeVolumeLimits" { // these have work to see that all fit
			t.Errorf("%s: all nodes fit all pods and none is rated", name)
		}
	}
}
