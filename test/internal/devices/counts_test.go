package devices

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestCountsAfterChanges: kube-scheduler's NodeResourcesFit remembers which devices a class selects, by their names, and
// where they can be used. So devices and nodes that change count as before. Berth counts what there is.
func TestCountsAfterChanges(t *testing.T) {
	node := func(zone string) *v1.Node {
		return &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": zone}},
			Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1000")}},
		}
	}
	slice := func(size int64) *resourcev1.ResourceSlice {
		return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, Pool: resourcev1.ResourcePool{Name: "p", Generation: 1, ResourceSliceCount: 1},
			NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"a"}},
			}}}},
			Devices: []resourcev1.Device{{Name: "d", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"size": {IntValue: &size}}}},
		}}
	}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "big"}, Spec: resourcev1.DeviceClassSpec{
		ExtendedResourceName: ptr.To(string(gpuResource)), Selectors: []resourcev1.DeviceSelector{selector(`device.attributes["` + driver + `"].size > 1`)},
	}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{gpuResource: resource.MustParse("1")}
	const counted, not = 75, 0 // three quarters of the weight are of devices, all of which would be in use
	for name, c := range map[string]struct {
		size         int64
		zone         string
		ours, theirs int64
	}{
		"nothing":    {2, "a", counted, counted},
		"the device": {1, "a", not, counted},
		"the node":   {2, "b", not, counted},
	} {
		t.Run(name, func(t *testing.T) {
			scores := func(s *side, err error) int64 {
				if err != nil {
					t.Fatal(err)
				}
				s.class(class, false)
				score := func(size int64, zone string) int64 {
					s.slice(slice(size), false)
					out := []int64{0}
					cycle := &plugin.Cycle{Context: t.Context(), Snapshot: newNodes([]*v1.Node{node(zone)}).snapshot, Pod: state.NewPod(pod), State: &state.CycleState{}}
					if status := s.fit.PreScore(cycle, []uint32{0}); !status.Success() {
						t.Fatal(status)
					}
					if status := s.fit.Score(cycle, []uint32{0}, out); !status.Success() {
						t.Fatal(status)
					}
					return out[0]
				}
				if got := score(2, "a"); got != counted {
					t.Errorf("before: %d, want %d", got, counted)
				}
				return score(c.size, c.zone)
			}
			if got := scores(ours()); got != c.ours {
				t.Errorf("Berth: %d, want %d", got, c.ours)
			}
			if got := scores(theirs(t.Context())); got != c.theirs {
				t.Errorf("kube-scheduler: %d, want %d", got, c.theirs)
			}
		})
	}
}
