package assembly

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// attackers are plugins that the tenant a attaches.
func attackers() map[string]guest {
	out := hostiles()
	out["rejects all"] = guest{filter: no}
	out["admits all"] = guest{}
	return out
}

// withTenants starts a scheduler with plugins of the tenants b and c, and that of a unless it is nil.
func withTenants(t *testing.T, a *guest) *recorder {
	t.Helper()
	modules := newModules(t)
	var all []Attached
	if a != nil {
		x := tenants(t, modules, *a, "a")
		x.Module.Reference.Limits = module.Limits{FuelPerCall: 3_000, FuelPerRow: 1, FuelPerCycle: 7_500}
		all = append(all, x)
	}
	all = append(all, tenants(t, modules, guest{}, "b"), tenants(t, modules, guest{score: `(i32.const 0)`}, "c"))
	r := start(t, Config{Modules: modules, Attached: all, TieBreak: cycle.First, Seed: 7})
	if refused := r.scheduler.Refusals(); len(refused) > 0 {
		t.Fatal(refused)
	}
	for i := range 20 {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%02d", i), Labels: map[string]string{"pool": []string{"others", "a"}[i%2]}}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("4")}
		r.scheduler.Scheduler.SetNode(state.NewNode(n))
	}
	return r
}

// arriving is the i-th pod of a run. In pools, the pods of a have nodes of their own.
func arriving(i int, pools bool) *v1.Pod {
	namespace := []string{"a", "b", "c", "d"}[i%4]
	name := fmt.Sprintf("%s-%02d", namespace, i)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	p.Spec.SchedulerName = "default-scheduler"
	if pools {
		p.Spec.NodeSelector = map[string]string{"pool": "others"}
		if namespace == "a" {
			p.Spec.NodeSelector["pool"] = "a"
		}
	}
	cpu := resource.MustParse(fmt.Sprint(1 + i%3)) // some do not fit in the end
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: cpu}}}}
	return p
}

func (r *recorder) arrive(t *testing.T, p *v1.Pod) {
	t.Helper()
	r.scheduler.Scheduler.SetPods(state.NewPod(p.DeepCopy()))
	r.steps(t)
	r.clock.Advance(time.Millisecond)
}

// decisions are the attempts of all tenants but a, without their numbers.
func (r *recorder) decisions(t *testing.T) (out []string) {
	t.Helper()
	for i := range r.attempts {
		a := r.attempts[i]
		if a.Sequence = 0; a.Namespace == "a" {
			continue
		}
		text, err := json.Marshal(&a)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

// TestOthersAreUntouched: each attempt of another tenant, decided again on the same snapshot
// without the plugin of a, is identical: verdicts, reasons, scores and the node, and what it costs
// the plugins of others. And so are whole runs, if a has nodes of its own.
func TestOthersAreUntouched(t *testing.T) {
	for name, attacker := range attackers() {
		t.Run(name, func(t *testing.T) {
			with, without := withTenants(t, &attacker), withTenants(t, nil)
			for i := range 80 {
				p := arriving(i, false)
				with.arrive(t, p)
				if p.Namespace != "a" {
					without.arrive(t, p)
					continue
				}
				for _, b := range with.bound { // the other scheduler is only told where the pod is
					if pod, node, _ := strings.Cut(b, " "); pod == p.Name {
						p.Spec.NodeName = node
						without.arrive(t, p)
					}
				}
			}
			got, want := with.decisions(t), without.decisions(t)
			if len(want) < 60 || !slices.ContainsFunc(want, func(d string) bool { return strings.Contains(d, "Insufficient cpu") }) {
				t.Fatalf("%d decisions say nothing", len(want))
			}
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					t.Fatalf("decision %d of %d: %s, without the plugin: %s", i, len(got), got[min(i, len(got)-1)], want[i])
				}
			}
			if got, want := with.work(), without.work(); !maps.Equal(got, want) {
				t.Errorf("the plugins of others worked %v, without the plugin %v", got, want)
			}
			with, without = withTenants(t, &attacker), withTenants(t, nil)
			for i := range 80 {
				with.arrive(t, arriving(i, true))
				without.arrive(t, arriving(i, true))
			}
			if got, want := with.ofOthers(), without.ofOthers(); len(want) < 15 || !maps.Equal(got, want) {
				t.Errorf("in pools: placed %v, want %v", got, want)
			}
		})
	}
}

// work is what the plugins of all tenants but a did: it takes the time of an attempt.
func (r *recorder) work() map[string]string {
	out := make(map[string]string)
	for name, m := range r.scheduler.mu.built[0].plugins {
		if p, ok := m.plugin.(*wasm.Plugin); ok && !strings.HasPrefix(name, "a/") {
			out[name] = fmt.Sprintf("%d calls, %d units, %d faults", p.Calls(), p.Fuel(), p.Faults())
		}
	}
	return out
}

// ofOthers is where the pods of all tenants but a are.
func (r *recorder) ofOthers() map[string]string {
	out := make(map[string]string)
	for _, b := range r.bound {
		if pod, node, _ := strings.Cut(b, " "); !strings.HasPrefix(pod, "a-") {
			out[pod] = node
		}
	}
	return out
}
