package assembly

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/internal/hostile"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// goodPlugin writes the k-th of the plugins that run beside a hostile one.
func goodPlugin(t *testing.T, k int) (file string) {
	t.Helper()
	data, err := hostile.Good(k)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "good.wasm")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// hostiles are plugins that misbehave in filter and score.
func hostiles() map[string]guest {
	out := map[string]guest{}
	for name, body := range map[string]string{
		"spins":             `(loop $again (br $again)) (i32.const 0)`,
		"traps":             `unreachable`,
		"answers nonsense":  `(i32.const 77)`,
		"writes everywhere": `(memory.fill (i32.load (local.get 0)) (i32.const 0xff) (i32.const 4096)) (i32.const 0)`,
		"takes all memory":  `(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (i32.const 0)`,
		"fills memory":      `(loop $again (memory.fill (i32.const 0x200000) (i32.const 1) (i32.const 0x80000)) (br $again)) (i32.const 0)`,
	} {
		out[name] = guest{filter: body, score: body}
	}
	return out
}

// withNine schedules pods of some namespaces with nine good plugins and, unless worst is nil, a
// hostile one. It returns the node of each pod, and the work of each good plugin.
func withNine(t *testing.T, good []string, worst *module.Reference, pods ...string) (placed map[string]string, work map[string]string, a *Assembly) {
	t.Helper()
	modules := newModules(t)
	s := Default()
	sets := [][]string{nil, {"a"}, {"b"}, {"a", "b"}}
	for k, file := range good {
		s = enabled(t, modules, s, module.Reference{Path: file, Name: fmt.Sprint("good-", k), Namespaces: sets[k%len(sets)], Weight: int32(k + 1)})
	}
	if worst != nil {
		worst.Name, worst.Weight = "hostile", 100
		worst.Limits = module.Limits{FuelPerCall: 3_000, FuelPerRow: 1, FuelPerCycle: 7_500}
		s = enabled(t, modules, s, *worst)
	}
	r := start(t, Config{Scheduler: s, Modules: modules})
	for i := range 40 {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%02d", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("3")}
		r.scheduler.Scheduler.SetNode(state.NewNode(n))
	}
	for i := range 60 {
		namespace := []string{"a", "b", "c"}[i%3]
		if !slices.Contains(pods, namespace) {
			continue
		}
		name := fmt.Sprintf("%s-%02d", namespace, i)
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
		p.Spec.SchedulerName = "default-scheduler"
		r.scheduler.Scheduler.SetPods(state.NewPod(p))
		r.steps(t)
		r.clock.Advance(time.Millisecond)
	}
	placed, work = map[string]string{}, map[string]string{}
	for _, b := range r.bound {
		pod, node, _ := strings.Cut(b, " ")
		placed[pod] = node
	}
	for k := range good {
		name := fmt.Sprint("good-", k)
		p := r.scheduler.mu.built[0].plugins[name].plugin.(*wasm.Plugin)
		work[name] = fmt.Sprintf("%d calls, %d units, %d faults", p.Calls(), p.Fuel(), p.Faults())
	}
	return placed, work, r.scheduler
}

// TestOneHostileNineGood: whatever one plugin does, the nine others make the same decisions as
// without it, with the same calls and fuel and no faults. What it takes of a cycle is bounded
// by its own fuel.
func TestOneHostileNineGood(t *testing.T) {
	var good []string
	for k := range 9 {
		good = append(good, goodPlugin(t, k))
	}
	want, work, _ := withNine(t, good, nil, "a", "b", "c")
	wantOfTwo, workOfTwo, _ := withNine(t, good, nil, "a", "b")
	if len(want) != 60 || len(slices.Compact(slices.Sorted(maps.Values(want)))) < 10 {
		t.Fatalf("the good ones alone: %v", want)
	}
	for name, g := range hostiles() {
		file := g.write(t)
		t.Run(name, func(t *testing.T) {
			// With its faults ignored, all pods are placed as without it.
			placed, same, a := withNine(t, good, &module.Reference{Path: file,
				FailurePolicy: module.FailurePolicies{All: v1alpha1.Ignore}, Namespaces: []string{"a", "b", "c"}}, "a", "b", "c")
			if !maps.Equal(placed, want) || !maps.Equal(same, work) {
				t.Errorf("ignored: placed %v, want %v; work %v, want %v", placed, want, same, work)
			}
			p := a.mu.built[0].plugins["hostile"].plugin.(*wasm.Plugin)
			if p.Faults() == 0 || p.Fuel() > 60*(7_500+3_040) {
				t.Errorf("%d faults, %d units", p.Faults(), p.Fuel())
			}
			// With faults that fail pods of c only, all others are placed as without pods of c.
			reference := module.Reference{Path: file, Namespaces: []string{"c"}}
			if placed, _, _ = withNine(t, good, &reference, "a", "b", "c"); !maps.Equal(placed, wantOfTwo) {
				t.Errorf("placed %v, want %v", placed, wantOfTwo)
			}
			if placed, same, _ = withNine(t, good, &reference, "a", "b"); !maps.Equal(placed, wantOfTwo) || !maps.Equal(same, workOfTwo) {
				t.Errorf("without its pods: placed %v, want %v; work %v, want %v", placed, wantOfTwo, same, workOfTwo)
			}
		})
	}
}
