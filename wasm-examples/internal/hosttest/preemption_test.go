//go:build !wasip1

package hosttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/assembly"
	hostmodule "github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// The limits of the plugin in TestPreemption: this many noisy pods per node.
const (
	noisyPods       = 3
	noisyConfig     = `{"noisyPods": 3}`
	preemptionNodes = 12
)

// TestPreemption: pods that a plugin's filter rejects preempt others, and only as many as the
// filter requires. Module and native twin decide the same.
func TestPreemption(t *testing.T) {
	nativeRun, moduleRun := preempt(t, false), preempt(t, true)
	if len(moduleRun.Evicted) == 0 {
		t.Fatal("no pod was evicted")
	}
	if !reflect.DeepEqual(nativeRun.Evicted, moduleRun.Evicted) || !reflect.DeepEqual(nativeRun.Placements, moduleRun.Placements) {
		t.Errorf("native: %+v\nmodule: %+v", nativeRun.Evicted, moduleRun.Evicted)
	}
	for _, pending := range moduleRun.Unschedulable {
		if pending.Message == "" {
			t.Errorf("%s is pending without a reason", pending.Pod)
		}
	}
	// Every node stays as full as it was.
	on := map[string]int{}
	for i := range preemptionNodes {
		on[fmt.Sprintf("n%02d", i)] = noisyPods
	}
	for _, p := range moduleRun.Placements {
		on[p.Node]++
	}
	for _, e := range moduleRun.Evicted {
		if on[e.Node]--; slices.ContainsFunc(moduleRun.Placements, func(p sim.Placement) bool { return p.Pod == e.Pod }) {
			t.Errorf("%s is evicted and placed", e.Pod)
		}
		if e.PlacedAt > 0 || e.Pod[0] == 'p' {
			on[e.Node]++ // it was placed here, and not counted
		}
	}
	for node, n := range on {
		if n != noisyPods {
			t.Errorf("node %s has %d noisy pods, want %d", node, n, noisyPods)
		}
	}
}

// preempt fills nodes with noisy pods and adds more.
func preempt(t *testing.T, asModule bool) *sim.Result {
	t.Helper()
	modules := assembly.NewModules(assembly.ModulesConfig{CacheDir: cacheDir(), VerifyEvery: 1})
	defer modules.Close(context.Background())
	e := example(t, "noisy-neighbour")
	c := assembly.Config{Seed: 7, Scheduler: assembly.Default(), Modules: modules, Plugins: plugin.Registry{}}
	m, err := modules.Load(hostmodule.Reference{Path: file(t, e), Config: []byte(noisyConfig), Weight: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Enable(c.Scheduler); err != nil {
		t.Fatal(err)
	}
	if !asModule {
		delete(c.Scheduler.Profiles[0].Args, e.Name)
		c.Plugins[e.Name] = func(any) (plugin.Plugin, error) {
			return newPlugin(t, e, native(t, e), wasm.Config{Config: []byte(noisyConfig), VerifyEvery: 1})
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	config := sim.Config{Assembly: c}
	for i := range preemptionNodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%02d", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourcePods: resource.MustParse("110")}
		config.Nodes = append(config.Nodes, n)
		for j := range noisyPods {
			p := noisyPod(fmt.Sprintf("there-%02d-%d", i, j), int32(r.IntN(4)))
			p.Spec.NodeName = n.Name
			config.Bound = append(config.Bound, state.NewPod(p))
		}
	}
	for i := range 30 {
		config.Arrivals = append(config.Arrivals, input.Arrival{Pod: noisyPod(fmt.Sprintf("p-%02d", i), int32(r.IntN(8)))})
	}
	s, err := sim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func noisyPod(name string, priority int32) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{"berth.dev/noisy": "true"},
	}}
	p.Spec.SchedulerName, p.Spec.Priority = v1.DefaultSchedulerName, &priority
	p.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}}}}
	return p
}
