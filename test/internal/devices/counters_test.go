package devices

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestCountersOfOtherNodes: what is wrong with counters of another node does not matter on this one.
func TestCountersOfOtherNodes(t *testing.T) {
	counters := func(name string) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: ptr.To("b"), Pool: resourcev1.ResourcePool{Name: "b", Generation: 1, ResourceSliceCount: 2},
			SharedCounters: []resourcev1.CounterSet{{Name: "set", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse("1")}}}},
		}}
	}
	for name, c := range map[string]struct {
		slices  []*resourcev1.ResourceSlice // of node b
		request resourcev1.ExactDeviceRequest
		want    string // of node a, which has a device without counters
	}{
		"complete": {
			slices: []*resourcev1.ResourceSlice{counters("b-0"), {
				ObjectMeta: metav1.ObjectMeta{Name: "b-1"}, Spec: resourcev1.ResourceSliceSpec{
					Driver: driver, NodeName: ptr.To("b"), Pool: counters("").Spec.Pool, Devices: []resourcev1.Device{{Name: "d"}},
				},
			}},
			request: resourcev1.ExactDeviceRequest{AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2},
			want:    `UnschedulableAndUnresolvable: ["cannot allocate all claims"]`,
		},
		"incomplete": {
			slices:  []*resourcev1.ResourceSlice{counters("b-0")},
			request: resourcev1.ExactDeviceRequest{AllocationMode: resourcev1.DeviceAllocationModeAll},
			want:    `Success: []`,
		},
		"invalid": {
			slices:  []*resourcev1.ResourceSlice{counters("b-0"), counters("b-1")},
			request: resourcev1.ExactDeviceRequest{AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2},
			want:    `UnschedulableAndUnresolvable: ["cannot allocate all claims"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := func(name string) *v1.Node {
				return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}}
			}
			a := node("a")
			n := newNodes([]*v1.Node{a, node("b")})
			mine := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "a-0"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: driver, NodeName: &a.Name, Pool: resourcev1.ResourcePool{Name: "a", Generation: 1, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "d"}},
			}}
			c.request.DeviceClassName = "any"
			claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c"}}
			claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &c.request}}
			pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: v1.PodSpec{
				ResourceClaims: []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim.Name}},
			}})
			says := func(s *side, err error) string {
				if err != nil {
					t.Fatal(err)
				}
				s.class(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "any"}}, false)
				for _, slice := range append([]*resourcev1.ResourceSlice{mine}, c.slices...) {
					s.slice(slice, false)
				}
				s.api.set(claim)
				cycle := &plugin.Cycle{Context: t.Context(), Snapshot: n.snapshot, Pod: pod, State: &state.CycleState{}}
				if _, status := s.plugin.PreFilter(cycle); !status.Success() {
					t.Fatal(status)
				}
				row, _ := n.snapshot.Row("a")
				var verdicts plugin.Verdicts
				verdicts.Reset(1)
				s.plugin.Filter(cycle, []uint32{row}, &verdicts)
				return fmt.Sprintf("%v: %q", verdicts.Codes[0], verdicts.Texts(0))
			}
			if got := says(ours()); got != c.want {
				t.Errorf("Berth says %s, want %s", got, c.want)
			}
			if got := says(theirs(t.Context())); got != c.want {
				t.Errorf("kube-scheduler says %s, want %s", got, c.want)
			}
		})
	}
}

// TestCountersOfDrivers: pools of two drivers with the same name have counters of their own.
func TestCountersOfDrivers(t *testing.T) {
	const large, small = "large.example.com", "small.example.com"
	set := func(amount int64) map[string]resourcev1.Counter {
		return map[string]resourcev1.Counter{"memory": {Value: *resource.NewQuantity(amount, resource.DecimalSI)}}
	}
	var wide []*resourcev1.ResourceSlice
	for name, c := range map[string]struct{ has, takes int64 }{large: {8, 4}, small: {1, 1}} {
		pool := resourcev1.ResourcePool{Name: "wide", Generation: 1, ResourceSliceCount: 2}
		device := resourcev1.Device{Name: "d", ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: set(c.takes)}}}
		wide = append(wide,
			&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
				Driver: name, AllNodes: ptr.To(true), Pool: pool, Devices: []resourcev1.Device{device},
			}},
			&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-counters"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: name, AllNodes: ptr.To(true), Pool: pool, SharedCounters: []resourcev1.CounterSet{{Name: "set", Counters: set(c.has)}},
			}})
	}
	// Node a has a device for the first request itself, so that the counters of the small pool are looked at first.
	wide = append(wide, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: ptr.To("a"), Pool: resourcev1.ResourcePool{Name: "a", Generation: 1, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "d"}},
	}})
	request := func(name, expression string) resourcev1.DeviceRequest {
		return resourcev1.DeviceRequest{Name: name, Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: "any", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1, Selectors: []resourcev1.DeviceSelector{selector(expression)},
		}}
	}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c"}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{request("first", `device.driver != "`+small+`"`), request("second", `device.driver == "`+small+`"`)}
	pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: v1.PodSpec{
		ResourceClaims: []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim.Name}},
	}})
	n := newNodes([]*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}})
	fits := func(s *side, err error) (out string) {
		if err != nil {
			t.Fatal(err)
		}
		s.class(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "any"}}, false)
		for _, slice := range wide {
			s.slice(slice, false)
		}
		s.api.set(claim)
		for _, nodes := range [][]string{{"a", "b"}, {"b"}} {
			cycle := &plugin.Cycle{Context: t.Context(), Snapshot: n.snapshot, Pod: pod, State: &state.CycleState{}}
			if _, status := s.plugin.PreFilter(cycle); !status.Success() {
				t.Fatal(status)
			}
			for _, node := range nodes {
				row, _ := n.snapshot.Row(node)
				var verdicts plugin.Verdicts
				verdicts.Reset(1)
				s.plugin.Filter(cycle, []uint32{row}, &verdicts)
				out += fmt.Sprintf("%s: %v ", node, verdicts.Codes[0])
			}
		}
		return out
	}
	const want = "a: Success b: Success b: Success "
	if got := fits(ours()); got != want {
		t.Errorf("Berth says %s, want %s", got, want)
	}
	if got := fits(theirs(t.Context())); got != want {
		t.Errorf("kube-scheduler says %s, want %s", got, want)
	}
}
