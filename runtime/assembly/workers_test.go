package assembly

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// rejectsIf is a filter that rejects all rows of a call if a condition holds.
func rejectsIf(condition string) string {
	const rejects = `(memory.fill (i32.load offset=24 (local.get 0)) (i32.const 2) (i32.sub (local.get 2) (local.get 1)))`
	return `(if ` + condition + ` (then ` + rejects + `)) (i32.const 0)`
}

// nodesEntry is the address of the entry of the nodes table.
const nodesEntry = `(i32.load offset=40 (i32.load (local.get 0)))`

// curious are filters whose answers depend on what the ABI says nothing of, or forbids: each tells the instances of its
// plugin apart, or the calls.
func curious() map[string]string {
	calls := `(i32.store (i32.const 8) (i32.add (i32.const 1) (i32.load (i32.const 8))))`
	third := rejectsIf(`(i32.eqz (i32.rem_u (i32.load (i32.const 8)) (i32.const 3)))`)
	// some is true of one call of four.
	const some = `(i32.eq (i32.rem_u (i32.load (i32.const 8)) (i32.const 4)) (i32.const 2))`
	return map[string]string{
		"by the rows of the table":     rejectsIf(`(i32.and (i32.load offset=4 ` + nodesEntry + `) (i32.const 1024))`),
		"by the rows of the call":      rejectsIf(`(i32.and (i32.load offset=20 (local.get 0)) (i32.const 1024))`),
		"by row_base":                  rejectsIf(`(i32.load offset=12 ` + nodesEntry + `)`),
		"by the first row":             rejectsIf(`(i32.ge_u (local.get 1) (i32.const 1024))`),
		"by the room for rows":         rejectsIf(`(i32.gt_u (i32.load offset=8 ` + nodesEntry + `) (i32.const 4096))`),
		"by its calls":                 calls + third,
		"by faults in one of blocks":   `(if (i32.eq (i32.sub (local.get 2) (local.get 1)) (i32.const 392)) (then unreachable)) ` + calls + third,
		"by faults in some blocks":     calls + `(if ` + some + ` (then unreachable)) ` + third,
		"by writes to the snapshot":    calls + `(if ` + some + ` (then (i32.store offset=16 ` + nodesEntry + ` (i32.const 77)))) ` + third,
		"by whether memory can grow":   rejectsIf(`(i32.eq (memory.grow (i32.const 40)) (i32.const -1))`),
		"by whether memory could grow": rejectsIf(`(i32.gt_u (memory.grow (i32.const 20)) (i32.const 170))`),
	}
}

// TestVerdictsByWorkers: whatever a filter answers by, 1, 2 and 8 workers get the same answers, faults and fuel, and as many
// instances are started, in clusters with fewer blocks than there may be instances, with more, and with too little memory.
func TestVerdictsByWorkers(t *testing.T)     { verdictsByWorkers(t) }
func TestRestVerdictsByWorkers(t *testing.T) { verdictsByWorkers(t) }

func verdictsByWorkers(t *testing.T) {
	t.Helper()
	for name, body := range curious() {
		file := guest{filter: body}.write(t)
		for i, c := range []struct {
			nodes  int
			memory int64
		}{{5000, 0}, {9608, 0}, {9608, 48 << 20}} {
			if (i != 1 || !slices.Contains([]string{"by its calls", "by faults in one of blocks", "by row_base"}, name)) && !testrest.In(t) {
				continue // slow: each run begins with thousands of nodes
			}
			if c.memory > 0 && strings.Contains(name, "memory") {
				c.memory = 64 << 20
			}
			var want string
			for _, workers := range []int{1, 2, 8} {
				got := attemptsWith(t, file, c.nodes, c.memory, workers)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s, %d nodes, %d bytes: %d workers\n%s\none\n%s", name, c.nodes, c.memory, workers, got, want)
				}
			}
			if strings.Count(want, "feasible 0") == 5 {
				t.Errorf("%s, %d nodes, %d bytes: the filter answers nothing:\n%s", name, c.nodes, c.memory, want)
			}
		}
	}
}

// attemptsWith tries five pods on so many nodes, and tells how that ended.
func attemptsWith(t *testing.T, file string, nodes int, memory int64, workers int) string {
	t.Helper()
	modules := newModules(t)
	s := enabled(t, modules, Default(), module.Reference{
		Path: file, Name: "curious", FailurePolicy: module.FailurePolicies{All: v1alpha1.Ignore},
		Limits: module.Limits{Memory: 12 << 20, MemoryTotal: memory, Depth: 500},
	})
	r := start(t, Config{Scheduler: s, Modules: modules, Workers: workers})
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%05d", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("3")}
		r.scheduler.Scheduler.SetNode(state.NewNode(n))
	}
	for i := range 5 {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("p", i))}}
		p.Spec.SchedulerName = v1.DefaultSchedulerName
		r.scheduler.Scheduler.SetPods(state.NewPod(p))
		r.steps(t)
	}
	var out strings.Builder
	for _, a := range r.attempts {
		fmt.Fprintf(&out, "%s: feasible %d, %s\n", a.Node, a.Feasible, a.Message)
	}
	p := r.scheduler.mu.built[0].plugins["curious"].plugin.(*wasm.Plugin)
	status := p.Status()
	fmt.Fprintf(&out, "%d calls, %d units, %d faults, %d instances, starts %d",
		p.Calls(), p.Fuel(), p.Faults(), status.Instances, status.Breaker.Starts)
	return out.String()
}
