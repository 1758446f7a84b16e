package dynamicresources

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// add adds a node with a pool of its own.
func (f *fleet) add(name string, slices ...resourcev1.ResourceSliceSpec) {
	f.snapshot.Nodes.Node = append(f.snapshot.Nodes.Node, state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	f.rows = append(f.rows, uint32(len(f.rows)))
	for i := range slices {
		slices[i].NodeName = &name
	}
	f.pool(name, slices...)
}

// pool adds, or replaces, the slices of a pool.
func (f *fleet) pool(name string, slices ...resourcev1.ResourceSliceSpec) {
	for i, spec := range slices {
		if spec.Driver == "" {
			spec.Driver = "gpu.example.com"
		}
		spec.Pool = resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: int64(len(slices))}
		f.store.Set(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + spec.Driver + string(rune('a'+i))}, Spec: spec})
	}
}

func memory(amount string) map[string]resourcev1.Counter {
	return map[string]resourcev1.Counter{"memory": {Value: resource.MustParse(amount)}}
}

// part is a device that consumes memory of its pool.
func part(name, amount string) resourcev1.Device {
	return resourcev1.Device{Name: name, ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: memory(amount)}}}
}

func counters(amount string) []resourcev1.CounterSet {
	return []resourcev1.CounterSet{{Name: "set", Counters: memory(amount)}}
}

func asks(requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaimSpec {
	return &resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}
}

// share is a claim that shares a device.
func share(claim, node, device string, capacity map[resourcev1.QualifiedName]resource.Quantity) *resourcev1.ResourceClaim {
	c := used(claim, node, device)
	r := &c.Status.Allocation.Devices.Results[0]
	r.ShareID, r.ConsumedCapacity = ptr.To(types.UID(claim)), capacity
	return c
}

// TestSharesOutliveSharing: shares of a device that no longer allows several allocations count.
func TestSharesOutliveSharing(t *testing.T) {
	f := newFleet(t, 0, false)
	device := resourcev1.Device{Name: "d", Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("10")}}}
	f.add("free", resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{device}})
	f.add("shared", resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{device}})
	f.store.Set(share("s", "shared", "d", map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("8")}))
	if fit := f.place(t, asks(request(1)), at); fit != 1 {
		t.Errorf("%d nodes fit, but one of two devices has 2 of 10 left", fit)
	}
}

// TestSharesWithoutCapacity: a share that takes no capacity has taken the device's counters, for those that follow.
func TestSharesWithoutCapacity(t *testing.T) {
	f := newFleet(t, 0, false)
	d := part("d", "2")
	d.AllowMultipleAllocations = ptr.To(true)
	f.add("n", resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{d}}, resourcev1.ResourceSliceSpec{SharedCounters: counters("3")})
	for range 2 {
		if fit := f.place(t, asks(request(1)), at); fit != 1 {
			t.Errorf("%d nodes fit, want 1", fit)
		}
	}
}

// TestFractions: where a valid range has fractions, a request counts in whole units, as in kube-scheduler without the gate
// DRAFractionalCapacityRange. With it, it counts in thousandths.
func TestFractions(t *testing.T) {
	for name, c := range map[string]struct {
		ledger func(objects.Devices) *Ledger
		want   []int
	}{
		"whole":      {NewLedger, []int{1, 0}},
		"fractional": {NewFractionalLedger, []int{1, 1, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 0, false)
			f.ledger = c.ledger(f.store.Devices())
			var err error
			if f.plugin, err = New(nil, Deps{Devices: f.store.Devices(), Ledger: f.ledger, Search: patient{},
				Now: func() time.Time { return time.Unix(0, 0) }}); err != nil {
				t.Fatal(err)
			}
			f.add("n", resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{{
				Name: "d", AllowMultipleAllocations: ptr.To(true),
				Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"cores": {
					Value: resource.MustParse("1"),
					RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("1")),
						ValidRange: &resourcev1.CapacityRequestPolicyRange{
							Min: ptr.To(resource.MustParse("200m")), Step: ptr.To(resource.MustParse("100m")),
						}},
				}},
			}}})
			third := request(1)
			third.Exactly.Capacity = &resourcev1.CapacityRequirements{
				Requests: map[resourcev1.QualifiedName]resource.Quantity{"cores": resource.MustParse("250m")},
			}
			for i, want := range c.want {
				if fit := f.place(t, asks(third), at); fit != want {
					t.Errorf("pod %d: %d nodes fit, want %d", i+1, fit, want)
				}
			}
		})
	}
}

// TestCountersOfDrivers: pools of two drivers with the same name have counters of their own, whatever pods asked before.
func TestCountersOfDrivers(t *testing.T) {
	f := newFleet(t, 0, false)
	f.store.Set(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
	f.add("n")
	for driver, amount := range map[string]string{"small": "1", "large": "4"} {
		f.pool("wide",
			resourcev1.ResourceSliceSpec{Driver: driver, AllNodes: ptr.To(true), Devices: []resourcev1.Device{part("d0", amount), part("d1", amount)}},
			resourcev1.ResourceSliceSpec{Driver: driver, AllNodes: ptr.To(true), SharedCounters: counters(amount)},
		)
	}
	for _, driver := range []string{"large", "small"} {
		if fit := f.place(t, asks(request(2, `device.driver == "`+driver+`"`)), at); fit != 0 {
			t.Errorf("two devices of the %s driver fit, which has memory for one", driver)
		}
	}
}
