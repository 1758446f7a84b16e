package state_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// nodesWith returns nodes "0", "1" … with the labels and taints that of returns.
func nodesWith(n int, of func(i int) (labels map[string]string, taints []v1.Taint)) []*state.NodeInfo {
	infos := make([]*state.NodeInfo, n)
	for i := range infos {
		labels, taints := of(i)
		object := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Labels: labels}, Spec: v1.NodeSpec{Taints: taints}}
		infos[i] = &state.NodeInfo{
			Name: object.Name, Node: state.NewNode(object), ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1),
		}
	}
	return infos
}

// TestDenseLabels: a common key gets a column and a rare one does not, and both read the same.
func TestDenseLabels(t *testing.T) {
	infos := nodesWith(100, func(i int) (map[string]string, []v1.Taint) {
		labels := map[string]string{"zone": fmt.Sprint("zone-", i%3)}
		if i == 50 {
			labels["rare"] = "yes"
		}
		return labels, nil
	})
	s := state.NewSnapshot()
	s.Rebuild(infos)
	zone, rare := s.Nodes.Labels.Key(s.Strings.Lookup("zone")), s.Nodes.Labels.Key(s.Strings.Lookup("rare"))
	if zone.Values == nil || rare.Values != nil {
		t.Errorf("zone is dense: %v, rare is dense: %v", zone.Values != nil, rare.Values != nil)
	}
	for row := range uint32(100) {
		want := ""
		if row == 50 {
			want = "yes"
		}
		if got := s.Strings.String(rare.At(row)); got != want {
			t.Errorf("row %d: rare is %q, want %q", row, got, want)
		}
		if got, want := s.Strings.String(zone.At(row)), fmt.Sprint("zone-", row%3); got != want {
			t.Errorf("row %d: zone is %q, want %q", row, got, want)
		}
	}
	absent := s.Nodes.Labels.Key(s.Strings.Lookup("never seen"))
	if absent.Values != nil || absent.At(7) != 0 {
		t.Errorf("a key without values reads %d", absent.At(7))
	}
}

// TestTaintSets: equal lists of taints share a set, and an empty list is set 0.
func TestTaintSets(t *testing.T) {
	a, b := v1.Taint{Key: "a", Effect: v1.TaintEffectNoSchedule}, v1.Taint{Key: "b", Effect: v1.TaintEffectNoExecute}
	lists := [][]v1.Taint{nil, {a}, {a, b}, {b, a}}
	s := state.NewSnapshot()
	s.Rebuild(nodesWith(8, func(i int) (map[string]string, []v1.Taint) { return nil, lists[i%4] }))
	if len(s.Nodes.TaintSets) != 4 {
		t.Errorf("%d sets for 4 lists", len(s.Nodes.TaintSets))
	}
	for i := range 8 {
		set := s.Nodes.TaintSet[i]
		if set != s.Nodes.TaintSet[i%4] || (set == 0) != (i%4 == 0) || len(s.Nodes.TaintSets[set]) != len(lists[i%4]) {
			t.Errorf("row %d has set %d", i, set)
		}
	}
}

// TestResourceIndex: the fixed resources always have columns.
func TestResourceIndex(t *testing.T) {
	s := state.NewSnapshot()
	for want, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods} {
		if got := s.ResourceIndex(name); got != want {
			t.Errorf("ResourceIndex(%s) = %d, want %d", name, got, want)
		}
	}
	if got := s.ResourceIndex("nvidia.com/gpu"); got != -1 {
		t.Errorf("ResourceIndex of an unknown resource is %d, want -1", got)
	}
}

// TestOverlayLeavesNothing: an overlay row that is dropped, and becomes a node's row because
// the table has grown, does not count twice.
func TestOverlayLeavesNothing(t *testing.T) {
	labelled := func(i int) (map[string]string, []v1.Taint) {
		return map[string]string{"zone": "a"}, []v1.Taint{{Key: "a", Effect: v1.TaintEffectNoSchedule}}
	}
	infos := nodesWith(40, labelled)
	for _, info := range infos {
		info.Node.Object.Status.Images = []v1.ContainerImage{{Names: []string{"nginx"}, SizeBytes: 1}}
		info.Node = state.NewNode(info.Node.Object)
	}
	s := state.NewSnapshot()
	s.Rebuild(infos[:16])
	first := uint32(s.Capacity())
	for row := range uint32(16) {
		if o := s.Overlay(row); o != first+row {
			t.Fatalf("overlay %d, want %d", o, first+row)
		}
	}
	// A node gets the row of the overlay.
	infos[first], infos[0] = infos[0], infos[first]
	infos[0].ObjectGeneration, infos[0].PodsGeneration = 100, 100
	dirty := make([]uint32, len(infos))
	for i := range dirty {
		dirty[i] = uint32(i)
	}
	s.Update(infos, dirty, nil)
	if got := s.Nodes.ImageNodes[s.Strings.Lookup("nginx")]; got != 40 {
		t.Errorf("40 nodes have the image, counted %d", got)
	}
	for i := range infos {
		if s.Nodes.Node[i] != infos[i].Node {
			t.Errorf("row %d was not written", i)
		}
	}
}

// TestOverlaysAreReused: trying one node after the other uses one overlay row and one slot per
// added pod, and does not move columns that were reserved before.
func TestOverlaysAreReused(t *testing.T) {
	s := state.NewSnapshot()
	s.Rebuild(nodesWith(40, func(int) (map[string]string, []v1.Taint) { return map[string]string{"zone": "a"}, nil }))
	s.ReserveOverlays(2)
	first, cpu := uint32(s.Capacity()), &s.Nodes.Resources[state.CPU].Requested[0]
	pod := state.NewPod(&v1.Pod{})
	for row := range uint32(40) {
		outer := s.Overlay(row)
		inner := s.Overlay(outer)
		s.AddPod(inner, pod)
		if outer != first || inner != first+1 || s.Pods.Len() != 1 {
			t.Fatalf("row %d: overlays %d and %d, %d slots; want %d and %d, 1", row, outer, inner, s.Pods.Len(), first, first+1)
		}
		s.Release(outer) // frees its row together with that of inner
		s.Release(inner)
	}
	if cpu != &s.Nodes.Resources[state.CPU].Requested[0] {
		t.Error("columns have moved")
	}
	if s.Pods.Len() != 0 {
		t.Errorf("%d slots are left", s.Pods.Len())
	}
}

// TestShown: only the snapshot that was said to show a node, and only for that very NodeInfo, takes its pods for
// written.
func TestShown(t *testing.T) {
	info := nodesWith(1, func(int) (map[string]string, []v1.Taint) { return nil, nil })[0]
	generation := uint64(1)
	add := func(slots ...uint32) {
		for _, slot := range slots {
			generation++
			pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(slot), UID: types.UID(fmt.Sprint(slot))}})
			info.AddPod(state.PlacedPod{Pod: pod, Slot: slot, Generation: generation})
		}
		info.PodsGeneration = generation
	}
	update := func(s *state.Snapshot, info *state.NodeInfo, want ...uint32) {
		t.Helper()
		s.Update([]*state.NodeInfo{info}, []uint32{0}, nil)
		if got := s.Nodes.Pods.Row(0); !slices.Equal(got, want) {
			t.Errorf("the row has the slots %v, want %v", got, want)
		}
		for _, slot := range want {
			if s.Pods.Pod[slot] == nil {
				t.Errorf("slot %d is empty", slot)
			}
		}
	}
	one, other := state.NewSnapshot(), state.NewSnapshot()
	add(0, 1)
	update(other, info, 0, 1)
	add(2)
	update(one, info, 0, 1, 2)
	info.Shown()
	add(3)
	before := one.BytesWritten
	update(one, info, 0, 1, 2, 3)
	if got := one.BytesWritten - before; got > 200 {
		t.Errorf("one more pod cost %d bytes", got)
	}
	info.Shown()
	info.RemovePod("1")
	generation++
	info.PodsGeneration = generation
	update(one, info, 0, 3, 2)
	info.Shown()
	add(4)
	update(other, info, 0, 3, 2, 4) // it has seen nothing of all this
	elsewhere := info.Clone()
	for i := range elsewhere.Pods {
		elsewhere.Pods[i].Slot += 10
		elsewhere.Pods[i].Generation += 100
	}
	elsewhere.AddPod(state.PlacedPod{Pod: elsewhere.Pods[0].Pod, Slot: 5, Generation: 1000})
	update(one, elsewhere, 10, 13, 12, 14, 5)
}
