package dynamicresources

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

const devicesOfNode = 8

// fleet is a cluster of nodes with eight devices each, about 60 % of which are allocated.
type fleet struct {
	store    *storage.Store
	ledger   *Ledger
	plugin   *DynamicResources
	snapshot *state.Snapshot
	rows     []uint32
	pods     int
	codes    []abi.Code // of the last pod's nodes
}

// patient implements objects.Search without limits.
type patient struct{}

func (patient) Within(ctx context.Context, _ string, _ time.Duration, search func(context.Context) error) error {
	return search(ctx)
}

var _ objects.Search = patient{}

// newFleet returns a cluster. If named, no two devices are alike.
func newFleet(tb testing.TB, nodes int, named bool) *fleet {
	tb.Helper()
	f := &fleet{store: storage.New(), snapshot: &state.Snapshot{}}
	f.store.Set(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`}}},
	}})
	dice := rand.New(rand.NewPCG(23, 60))
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-gpu"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1},
		}}
		for j := range devicesOfNode {
			d := resourcev1.Device{Name: fmt.Sprintf("gpu-%d", j), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"model": {StringValue: ptr.To("x")}, "numa": {IntValue: ptr.To(int64(j / 4))}, "memory": {IntValue: ptr.To(int64(80))},
			}}
			if named {
				d.Attributes["uuid"] = resourcev1.DeviceAttribute{StringValue: ptr.To(fmt.Sprintf("GPU-%d-%d", i, j))}
			}
			slice.Spec.Devices = append(slice.Spec.Devices, d)
			if dice.IntN(5) < 3 {
				f.store.Set(used(fmt.Sprintf("used-%d-%d", i, j), name, d.Name))
			}
		}
		f.store.Set(slice)
		f.snapshot.Nodes.Node = append(f.snapshot.Nodes.Node, state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		f.rows = append(f.rows, uint32(i))
	}
	f.ledger = NewLedger(f.store.Devices())
	var err error
	f.plugin, err = New(nil, Deps{
		Devices: f.store.Devices(), Ledger: f.ledger, Search: patient{},
		Now: func() time.Time { return time.Unix(0, 0) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func used(claim, node, device string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: claim, UID: types.UID(claim)}}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "gpu.example.com", Pool: node, Device: device}},
	}}
	return c
}

// cycle makes a pod with a claim of a spec.
func (f *fleet) cycle(tb testing.TB, spec *resourcev1.ResourceClaimSpec) *plugin.Cycle {
	tb.Helper()
	f.pods++
	name := fmt.Sprintf("c%d", f.pods)
	f.store.Set(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Spec: *spec})
	pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("pod-" + name)}, Spec: v1.PodSpec{
		ResourceClaims: []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &name}},
	}})
	return &plugin.Cycle{Context: tb.Context(), Snapshot: f.snapshot, Pod: pod, State: &state.CycleState{}}
}

// reserve reserves a pod on a node.
func (f *fleet) reserve(c *plugin.Cycle, row int) *plugin.Status {
	_, status := f.plugin.Reserve(&plugin.Placement{Context: c.Context, Pod: c.Pod, Node: f.snapshot.Nodes.Node[row], State: c.State})
	return status
}

// place tries a pod with a claim of a spec, and returns how many nodes fit. The pod before is bound by then.
func (f *fleet) place(tb testing.TB, spec *resourcev1.ResourceClaimSpec, measure func(run func())) (fit int) {
	tb.Helper()
	c := f.cycle(tb, spec)
	var verdicts plugin.Verdicts
	verdicts.Reset(len(f.rows))
	chosen := -1
	measure(func() {
		if _, status := f.plugin.PreFilter(c); !status.Success() {
			tb.Fatal(status)
		}
		f.plugin.Filter(c, f.rows, &verdicts)
		for i, code := range verdicts.Codes {
			if code == abi.Success {
				fit++
				if chosen < 0 || i <= f.pods%len(f.rows) {
					chosen = i
				}
			}
		}
		if chosen < 0 {
			return
		}
		if status := f.reserve(c, chosen); !status.Success() {
			tb.Fatal(status)
		}
	})
	f.codes = verdicts.Codes
	return fit
}

func request(count int64, selectors ...string) resourcev1.DeviceRequest {
	e := &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}
	for _, s := range selectors {
		e.Selectors = append(e.Selectors, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: s}})
	}
	return resourcev1.DeviceRequest{Name: "r", Exactly: e}
}

// specs are the claims whose cost is measured.
func specs() map[string]*resourcev1.ResourceClaimSpec {
	simple := &resourcev1.ResourceClaimSpec{}
	simple.Devices.Requests = []resourcev1.DeviceRequest{request(1, `device.attributes["gpu.example.com"].memory >= 40`)}
	constrained := &resourcev1.ResourceClaimSpec{}
	constrained.Devices.Requests = []resourcev1.DeviceRequest{request(2, `device.attributes["gpu.example.com"].model == "x"`)}
	constrained.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: ptr.To(resourcev1.FullyQualifiedName("gpu.example.com/numa"))}}
	choosy := constrained.DeepCopy()
	choosy.Devices.Requests[0].Exactly.Selectors[0].CEL.Expression = `device.attributes["gpu.example.com"].?uuid.orValue("") != "GPU-3-3"`
	return map[string]*resourcev1.ResourceClaimSpec{"simple": simple, "constrained": constrained, "choosy": choosy}
}

func at(run func()) { run() }

// TestWork: nodes that are alike are searched once for all claims of a spec, and after that only nodes that
// changed.
func TestWork(t *testing.T) {
	const nodes = 1000
	for name, spec := range specs() {
		for _, named := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s named=%v", name, named), func(t *testing.T) {
				f := newFleet(t, nodes, named)
				first := f.place(t, spec, at)
				work := f.ledger.Work()
				most := 256 // as many ways of being in use as there are
				programs := 2
				if named && name == "choosy" {
					most, programs = most+1, nodes*devicesOfNode/2 // of free devices
				}
				if work.Searched > most || work.Searched+work.Kept < nodes || first == 0 || first == nodes && name != "simple" {
					t.Errorf("the first pod: %d nodes fit, %+v, want at most %d searches", first, work, most)
				}
				if work.Programs > programs {
					t.Errorf("the first pod: %d CEL programs were run, want at most %d", work.Programs, programs)
				}
				for range 50 {
					before := f.ledger.Work()
					f.place(t, spec, at)
					// The node that changed, and the chosen one.
					if searched := f.ledger.Work().Searched - before.Searched; searched > 2 {
						t.Fatalf("a later pod: %d nodes were searched", searched)
					}
					if programs := f.ledger.Work().Programs; programs != work.Programs {
						t.Fatalf("a later pod: %d CEL programs were run", programs-work.Programs)
					}
				}
				if wrong := f.ledger.Work().Wrong; wrong != 0 {
					t.Errorf("%d nodes were chosen in vain", wrong)
				}
			})
		}
	}
}

// TestWide: a pool of all nodes, and pools with counters, leave nodes alike.
func TestWide(t *testing.T) {
	const nodes = 600
	f := newFleet(t, nodes, true)
	f.store.Set(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "wide"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "net.example.com", AllNodes: ptr.To(true), Pool: resourcev1.ResourcePool{Name: "n3", Generation: 1, ResourceSliceCount: 1},
		Devices: []resourcev1.Device{{Name: "a"}, {Name: "b"}},
	}})
	for i := range nodes / 2 {
		name := fmt.Sprintf("n%d", i)
		pool := resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 2}
		counters := map[string]resourcev1.Counter{"memory": {Value: resource.MustParse("80Gi")}}
		f.store.Set(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-parts"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "parts.example.com", NodeName: &name, Pool: pool,
			Devices: []resourcev1.Device{{Name: "p", ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "gpu", Counters: counters}}}},
		}})
		f.store.Set(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-counters"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "parts.example.com", NodeName: &name, Pool: pool, SharedCounters: []resourcev1.CounterSet{{Name: "gpu", Counters: counters}},
		}})
	}
	spec := specs()["constrained"]
	const most = nodes * 3 / 4
	before := f.ledger.Work()
	f.place(t, spec, at)
	if first := f.ledger.Work().Searched - before.Searched; first > most {
		t.Errorf("the first pod: %d nodes were searched, want at most %d", first, most)
	}
	for i, name := range []string{"a", "b"} {
		claim := used("wide-"+name, "n3", name)
		claim.Status.Allocation.Devices.Results[0].Driver = "net.example.com"
		f.store.Set(claim)
		before = f.ledger.Work()
		f.place(t, spec, at)
		if searched := f.ledger.Work().Searched - before.Searched; searched == 0 || searched > most {
			t.Errorf("after device %d of the wide pool was taken, %d nodes were searched, want at most %d", i, searched, most)
		}
	}
	before = f.ledger.Work()
	f.place(t, spec, at)
	if searched := f.ledger.Work().Searched - before.Searched; searched > 2 {
		t.Errorf("a later pod: %d nodes were searched", searched)
	}
	if wrong := f.ledger.Work().Wrong; wrong != 0 {
		t.Errorf("%d nodes were chosen in vain", wrong)
	}
}

// TestKept: verdicts are forgotten with what they depend on. Fresh ledgers agree after each change.
func TestKept(t *testing.T) {
	f := newFleet(t, 40, false)
	spec := specs()["constrained"]
	fresh := func() int {
		g := *f
		g.ledger = NewLedger(f.store.Devices())
		deps := f.plugin.deps
		deps.Ledger = g.ledger
		g.plugin = &DynamicResources{deps: deps, filterTimeout: f.plugin.filterTimeout, bindTimeout: f.plugin.bindTimeout}
		return g.place(t, spec, at)
	}
	seen := make(map[int]bool)
	for _, x := range []struct {
		name   string
		change func()
	}{
		{"nothing", func() {}},
		{"a claim", func() {
			for i := range 40 {
				f.store.Set(used(fmt.Sprintf("used-%d-0", i), fmt.Sprintf("n%d", i), "gpu-0"))
				f.store.Delete(used(fmt.Sprintf("used-%d-6", i), fmt.Sprintf("n%d", i), "gpu-6"))
			}
		}},
		{"a slice", func() {
			for i := range 20 {
				f.store.Delete(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d-gpu", i)}})
			}
		}},
		{"a class", func() {
			f.store.Set(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{
				Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.attributes["gpu.example.com"].numa == 0`}}},
			}})
		}},
		{"a shared pool", func() {
			f.store.Set(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: "gpu.example.com", AllNodes: ptr.To(true), Pool: resourcev1.ResourcePool{Name: "all", Generation: 1, ResourceSliceCount: 1},
				Devices: []resourcev1.Device{{Name: "a", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
					"model": {StringValue: ptr.To("x")}, "numa": {IntValue: ptr.To(int64(0))},
				}}},
			}})
		}},
	} {
		f.place(t, spec, at) // so that something is kept
		for _, flight := range f.ledger.flights {
			f.ledger.land(flight)
		}
		x.change()
		want := fresh()
		if got := f.place(t, spec, at); got != want {
			t.Errorf("after %s: %d nodes fit, %d without what was kept", x.name, got, want)
		}
		for _, flight := range f.ledger.flights {
			f.ledger.land(flight)
		}
		seen[want] = true
	}
	if len(seen) < 3 {
		t.Errorf("the changes change little: %v", seen)
	}
}

// BenchmarkClaims: 5,000 nodes with eight devices each, 60 % of them in use. A pod's PreFilter, Filter of all nodes
// and Reserve; first is the first pod of a spec whose selectors are new, and later are the following ones.
func BenchmarkClaims(b *testing.B) {
	for _, named := range []bool{false, true} {
		for name, spec := range specs() {
			kind := map[bool]string{false: "alike", true: "unlike"}[named]
			f := newFleet(b, 5000, named)
			f.place(b, &resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request(3)}}}, at)
			b.Run(kind+"/"+name+"/first", func(b *testing.B) {
				b.StopTimer()
				for range b.N {
					f.ledger.forget()
					f.ledger.compiled().forget()
					f.place(b, spec, func(run func()) { b.StartTimer(); run(); b.StopTimer() })
				}
			})
			b.Run(kind+"/"+name+"/later", func(b *testing.B) {
				b.StopTimer()
				f.place(b, spec, at)
				for range b.N {
					f.place(b, spec, func(run func()) { b.StartTimer(); run(); b.StopTimer() })
				}
			})
		}
	}
}

// TestErrorEnds: the first error ends the search, as it ends the attempt.
func TestErrorEnds(t *testing.T) {
	f := newFleet(t, 300, true)
	f.place(t, asks(request(1, `device.attributes["gpu.example.com"].missing == 1`)), at)
	if searched := f.ledger.Work().Searched; searched != 1 {
		t.Errorf("%d nodes were searched with a selector that fails", searched)
	}
	if !slices.Equal(f.codes, slices.Repeat([]abi.Code{abi.Error}, len(f.rows))) {
		t.Error("some nodes have another verdict")
	}
}

// TestKeptAllocations: nodes whose answer is known cost no memory.
func TestKeptAllocations(t *testing.T) {
	f := newFleet(t, 1000, false)
	spec := specs()["simple"]
	f.place(t, spec, at)
	c := f.cycle(t, spec)
	if _, status := f.plugin.PreFilter(c); !status.Success() {
		t.Fatal(status)
	}
	var verdicts plugin.Verdicts
	verdicts.Reset(len(f.rows))
	if n := testing.AllocsPerRun(5, func() { f.plugin.Filter(c, f.rows, &verdicts) }); n > 50 {
		t.Errorf("%v allocations for %d nodes", n, len(f.rows))
	}
}
