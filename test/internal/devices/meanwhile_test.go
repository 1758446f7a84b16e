package devices

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestMeanwhile: what PreBind does with a claim that somebody changed since Reserve. The plugins differ if it was made
// again, or if it was reserved for the pod before: see docs/differences.md.
func TestMeanwhile(t *testing.T) {
	const (
		written   = "Success: , allocated to d, reserved for [p]"
		elsewhere = "claim default/c got allocated elsewhere in the meantime"
	)
	other := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "q", UID: "q"}
	for name, c := range map[string]struct {
		before, gone bool // the claim is allocated and reserved for the pod before, and is deleted
		change       func(c *resourcev1.ResourceClaim)
		ours, theirs string // the latter if it differs
	}{
		"nothing":       {ours: written},
		"a label":       {change: func(c *resourcev1.ResourceClaim) { c.Labels = map[string]string{"a": "b"} }, ours: written},
		"a finalizer":   {change: func(c *resourcev1.ResourceClaim) { c.Finalizers = []string{resourcev1.Finalizer} }, ours: written},
		"an allocation": {change: func(c *resourcev1.ResourceClaim) { c.Status.Allocation = allocation("x") }, ours: "Error: " + elsewhere + ", allocated to x, reserved for []"},
		"the same allocation": {
			change: func(c *resourcev1.ResourceClaim) { c.Status.Allocation = allocation("d") },
			ours:   "Error: " + elsewhere + ", allocated to d, reserved for []",
		},
		"a deletion": {
			change: func(c *resourcev1.ResourceClaim) { c.DeletionTimestamp = &metav1.Time{} },
			ours:   "Error: claim default/c got deleted in the meantime, not allocated, reserved for []",
		},
		"another claim": {
			change: func(c *resourcev1.ResourceClaim) { c.UID = "another" },
			ours:   `Error: get updated claim default/c after conflict: resourceclaim "c" was deleted and made again, not allocated, reserved for []`, theirs: written,
		},
		"nothing, and it is reserved": {before: true, ours: written},
		"its end": {
			before: true, gone: true,
			ours: `Error: get reserved claim default/c: resourceclaims.resource.k8s.io "c" not found`, theirs: "Success: ",
		},
		"a further pod": {
			before: true, change: func(c *resourcev1.ResourceClaim) { c.Status.ReservedFor = append(c.Status.ReservedFor, other) },
			ours: "Success: , allocated to d, reserved for [p q]",
		},
		"the end of the reservation": {
			before: true, change: func(c *resourcev1.ResourceClaim) { c.Status.ReservedFor = nil },
			ours: written, theirs: "Success: , allocated to d, reserved for []",
		},
		"the end of the allocation": {
			before: true, change: func(c *resourcev1.ResourceClaim) { c.Status = resourcev1.ResourceClaimStatus{} },
			ours: "Error: claim default/c got deallocated elsewhere in the meantime, not allocated, reserved for []", theirs: "Success: , not allocated, reserved for []",
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{v1.LabelHostname: "n"}}}
			n := newNodes([]*v1.Node{node})
			claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c"}}
			claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "any", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
			}}}
			if c.before {
				claim.Status.Allocation = allocation("d")
				claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}}
			}
			pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: v1.PodSpec{
				ResourceClaims: []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim.Name}},
			}})
			says := func(s *side, err error) string {
				if err != nil {
					t.Fatal(err)
				}
				s.class(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "any"}}, false)
				s.slice(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: resourcev1.ResourceSliceSpec{
					Driver: driver, NodeName: ptr.To("n"), Pool: resourcev1.ResourcePool{Name: "n", Generation: 1, ResourceSliceCount: 1},
					Devices: []resourcev1.Device{{Name: "d"}},
				}}, false)
				s.api.set(claim)
				cycle := &plugin.Cycle{Context: t.Context(), Snapshot: n.snapshot, Pod: pod, State: &state.CycleState{}}
				if _, status := s.plugin.PreFilter(cycle); !status.Success() {
					t.Fatal(status)
				}
				var verdicts plugin.Verdicts
				verdicts.Reset(1)
				s.plugin.Filter(cycle, []uint32{0}, &verdicts)
				p := &plugin.Placement{Context: t.Context(), Pod: pod.On("n", state.Patch{}), Node: n.snapshot.Nodes.Node[0], State: cycle.State}
				if _, status := s.plugin.Reserve(p); !status.Success() {
					t.Fatal(status)
				}
				if c.gone {
					if err := s.api.remove("default", "c"); err != nil {
						t.Fatal(err)
					}
				}
				if c.change != nil {
					changed := claim.DeepCopy()
					c.change(changed)
					s.api.set(changed)
				}
				_, status := s.plugin.PreBind(p)
				now, err := s.api.get("default", "c")
				if err != nil {
					return words(status)
				}
				to := "not allocated"
				if a := now.Status.Allocation; a != nil {
					to = "allocated to " + a.Devices.Results[0].Device
				}
				pods := []string{}
				for _, r := range now.Status.ReservedFor {
					pods = append(pods, r.Name)
				}
				return fmt.Sprintf("%s, %s, reserved for %v", words(status), to, pods)
			}
			if c.theirs == "" {
				c.theirs = c.ours
			}
			if got := says(ours()); got != c.ours {
				t.Errorf("Berth: %s, want %s", got, c.ours)
			}
			if got := says(theirs(t.Context())); got != c.theirs {
				t.Errorf("kube-scheduler: %s, want %s", got, c.theirs)
			}
		})
	}
}

func allocation(device string) *resourcev1.AllocationResult {
	return &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: "n", Device: device}},
	}}
}
