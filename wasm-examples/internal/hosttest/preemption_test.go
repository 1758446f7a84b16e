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
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// The limits of the plugin in TestRestPreemption: this many noisy pods per node.
const (
	noisyPods       = 3
	noisyConfig     = `{"noisyPods": 3}`
	preemptionNodes = 12
)

// TestRestPreemption: pods that a plugin's filter rejects preempt others, and only as many as the
// filter requires. Module and native twin decide the same.
func TestRestPreemption(t *testing.T) {
	noisy := &crowd{
		example: "noisy-neighbour", config: noisyConfig, weight: 1,
		node: func(int) map[string]string { return nil },
		pod:  func(int) map[string]string { return map[string]string{"berth.dev/noisy": "true"} },
	}
	nativeRun, moduleRun := noisy.preempt(t, nil), noisy.preempt(t, file)
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

// TestRestPreemptionWithState: a plugin whose filter looks at its state has pods preempted that are on
// other nodes of a zone or on the same one. The modules in Go and Rust decide as the native twin, and
// no zone gets more pods of an app than it may have.
func TestRestPreemptionWithState(t *testing.T) {
	const most = 3
	zone := func(node int) string { return fmt.Sprint("zone-", node%4) }
	c := &crowd{
		example: "zone-limit", config: fmt.Sprintf(`{"most": %d}`, most),
		node: func(i int) map[string]string { return map[string]string{v1.LabelTopologyZone: zone(i)} },
		pod:  func(i int) map[string]string { return map[string]string{"app": fmt.Sprint("app-", i%noisyPods)} },
	}
	want := c.preempt(t, nil)
	if len(want.Evicted) < 5 || len(want.Placements) < 5 {
		t.Fatalf("%d pods were evicted and %d placed, want more", len(want.Evicted), len(want.Placements))
	}
	on, app := map[string]string{}, map[string]string{}
	for i := range preemptionNodes {
		for j := range noisyPods {
			name := fmt.Sprintf("there-%02d-%d", i, j)
			on[name], app[name] = zone(i), c.pod(j)["app"]
		}
	}
	for i := range 30 {
		app[fmt.Sprintf("p-%02d", i)] = c.pod(i)["app"]
	}
	for _, p := range want.Placements {
		var node int
		if _, err := fmt.Sscanf(p.Node, "n%d", &node); err != nil {
			t.Fatal(err)
		}
		on[p.Pod] = zone(node)
	}
	for _, e := range want.Evicted {
		delete(on, e.Pod)
	}
	pods := map[[2]string]int{}
	for pod, zone := range on {
		if app[pod] == "" {
			t.Fatalf("%s is of no app", pod)
		}
		if pods[[2]string{zone, app[pod]}]++; pods[[2]string{zone, app[pod]}] > most {
			t.Errorf("%s has more than %d pods of %s", zone, most, app[pod])
		}
	}
	for _, twin := range []twin{{name: "go", file: file}, {name: "rust", file: inRust().file}} {
		t.Run(twin.name, func(t *testing.T) {
			got := c.preempt(t, twin.file)
			if !reflect.DeepEqual(got.Evicted, want.Evicted) || !reflect.DeepEqual(got.Placements, want.Placements) {
				t.Errorf("evicted %+v, placed %+v, the native twin %+v and %+v", got.Evicted, got.Placements, want.Evicted, want.Placements)
			}
		})
	}
}

// crowd is a cluster whose nodes are full, as a plugin sees it, with labels of the i-th node and pod.
type crowd struct {
	example, config string
	weight          int32 // of a plugin with a score
	node, pod       func(i int) map[string]string
}

// preempt fills nodes with pods and adds more. in returns the plugin's module; nil runs it natively.
func (c *crowd) preempt(t *testing.T, in func(t testing.TB, e *wasmexamples.Example) string) *sim.Result {
	t.Helper()
	modules := assembly.NewModules(assembly.ModulesConfig{CacheDir: cacheDir(), VerifyEvery: 1})
	defer modules.Close(context.Background())
	e := example(t, c.example)
	a := assembly.Config{Seed: 7, Scheduler: assembly.Default(), Modules: modules, Plugins: plugin.Registry{}}
	path := file(t, e) // the native twin takes the manifest of the module in Go
	if in != nil {
		path = in(t, e)
	}
	m, err := modules.Load(hostmodule.Reference{Path: path, Config: []byte(c.config), Weight: c.weight})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Enable(a.Scheduler); err != nil {
		t.Fatal(err)
	}
	if in == nil {
		delete(a.Scheduler.Profiles[0].Args, e.Name)
		a.Plugins[e.Name] = func(any) (plugin.Plugin, error) {
			return newPlugin(t, e, native(t, e), wasm.Config{Config: []byte(c.config), VerifyEvery: 1})
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	config := sim.Config{Assembly: a}
	for i := range preemptionNodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%02d", i), Labels: c.node(i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourcePods: resource.MustParse("110")}
		config.Nodes = append(config.Nodes, n)
		for j := range noisyPods {
			p := crowdPod(fmt.Sprintf("there-%02d-%d", i, j), c.pod(j), int32(r.IntN(4)))
			p.Spec.NodeName = n.Name
			config.Bound = append(config.Bound, state.NewPod(p))
		}
	}
	for i := range 30 {
		config.Arrivals = append(config.Arrivals, input.Arrival{Pod: crowdPod(fmt.Sprintf("p-%02d", i), c.pod(i), int32(r.IntN(8)))})
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

func crowdPod(name string, labels map[string]string, priority int32) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: labels}}
	p.Spec.SchedulerName, p.Spec.Priority = v1.DefaultSchedulerName, &priority
	p.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}}}}
	return p
}

func noisyPod(name string, priority int32) *v1.Pod {
	return crowdPod(name, map[string]string{"berth.dev/noisy": "true"}, priority)
}
