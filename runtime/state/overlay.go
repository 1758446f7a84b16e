package state

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// Overlay adds an overlay row: a copy of a row that AddPod and RemovePod may change. It is
// valid until Release, DropOverlays or the next update.
//
// Columns may move if there is no room for another overlay, so earlier views of columns become
// invalid unless room was reserved.
func (s *Snapshot) Overlay(row uint32) uint32 {
	t := &s.Nodes
	if len(t.used) == t.overlays {
		s.growOverlays(1)
	}
	o := uint32(t.capacity + len(t.used))
	t.used = append(t.used, false)
	t.Node[o], t.Rank[o], t.Flags[o] = t.Node[row], t.Rank[row], t.Flags[row]
	for i := range t.Resources {
		r := &t.Resources[i]
		r.Allocatable[o], r.Requested[o] = r.Allocatable[row], r.Requested[row]
	}
	t.NonZeroCPU[o], t.NonZeroMemory[o] = t.NonZeroCPU[row], t.NonZeroMemory[row]
	t.TaintSet[o] = t.TaintSet[row]
	t.ObjectGeneration[o], t.PodsGeneration[o] = t.ObjectGeneration[row], t.PodsGeneration[row]
	t.Cells[o], t.FeedsGeneration[o] = t.Cells[row], t.FeedsGeneration[row]
	t.Labels.copyRow(o, row)
	t.Ports.Set(o, t.Ports.Row(row))
	t.Images.Set(o, t.Images.Row(row))
	t.Pods.Set(o, t.Pods.Row(row))
	t.Nominated.Set(o, t.Nominated.Row(row))
	return o
}

// ReserveOverlays makes room for n more overlay rows, so that making them does not move
// columns.
func (s *Snapshot) ReserveOverlays(n int) {
	if t := &s.Nodes; t.overlays-len(t.used) < n {
		s.growOverlays(n)
	}
}

// growOverlays makes room for at least n more overlay rows. Existing ones keep their indices.
func (s *Snapshot) growOverlays(n int) {
	t := &s.Nodes
	t.grow(t.capacity, max(8, len(t.used)+n, 2*t.overlays))
}

// Release frees an overlay row, with the slots of pods that were added to it. The row is reused
// once all later rows are released too, so a caller that tries thousands of nodes one after the
// other needs one row.
func (s *Snapshot) Release(row uint32) {
	t := &s.Nodes
	t.used[int(row)-t.capacity] = true
	for last := len(t.used) - 1; last >= 0 && t.used[last]; last-- {
		t.clearOverlay(uint32(t.capacity + last))
		t.used = t.used[:last]
	}
	s.Pods.dropSpares(uint32(t.capacity + len(t.used)))
}

// AddPod adds a pod to an overlay row. The row's PodsGeneration becomes 0, because it no longer
// equals any node's.
func (s *Snapshot) AddPod(overlay uint32, pod *Pod) {
	s.PutBack(overlay, s.Pods.spare(overlay, pod, s.Strings))
}

// RemovePod removes a pod from an overlay row and reports whether it was there. The row's
// PodsGeneration becomes 0, as in AddPod.
func (s *Snapshot) RemovePod(overlay uint32, uid types.UID) bool {
	_, ok := s.TakePod(overlay, uid)
	return ok
}

// PutBack adds the pod in a slot that TakePod removed from the same overlay row. It is cheaper
// than AddPod, which gives the pod another slot.
func (s *Snapshot) PutBack(overlay, slot uint32) {
	t := &s.Nodes
	pod := s.Pods.Pod[slot]
	t.Pods.Append(overlay, slot)
	for _, p := range t.appendPorts(nil, pod) {
		t.Ports.Append(overlay, p)
	}
	t.account(overlay, &s.Pods, pod, 1)
}

// TakePod removes a pod from an overlay row as RemovePod does, and returns its slot for
// PutBack.
func (s *Snapshot) TakePod(overlay uint32, uid types.UID) (slot uint32, ok bool) {
	t := &s.Nodes
	slots := t.Pods.Row(overlay)
	i := slices.IndexFunc(slots, func(slot uint32) bool { return s.Pods.Pod[slot].UID == uid })
	if i < 0 {
		return 0, false
	}
	slot = slots[i]
	pod := s.Pods.Pod[slot]
	slots = slices.Delete(slots, i, i+1)
	t.Pods.Set(overlay, slots)
	if len(pod.HostPorts) > 0 {
		ports := t.scratch.ports[:0]
		for _, slot := range slots {
			ports = t.appendPorts(ports, s.Pods.Pod[slot])
		}
		t.scratch.ports = ports
		t.Ports.Set(overlay, ports)
	}
	t.account(overlay, &s.Pods, pod, -1)
	return slot, true
}

// DropOverlays removes all overlay rows and the pods that only they have.
func (s *Snapshot) DropOverlays() {
	t := &s.Nodes
	for i := range t.used {
		t.clearOverlay(uint32(t.capacity + i))
	}
	t.used = t.used[:0]
	s.Pods.dropSpares(0)
}

// account adds a pod to the sums of an overlay row, or subtracts it, after the row's pods have changed.
func (t *NodeTable) account(row uint32, pods *PodTable, pod *Pod, sign int64) {
	t.PodsGeneration[row] = 0
	if sign < 0 && t.full(row, pod) {
		for i := range t.Resources {
			t.Resources[i].Requested[row] = 0
		}
		t.NonZeroCPU[row], t.NonZeroMemory[row] = 0, 0
		for _, slot := range t.Pods.Row(row) {
			t.sum(row, pods.Pod[slot], 1)
		}
		return
	}
	t.sum(row, pod, sign)
}

// full reports whether a sum has stopped at the largest int64, so that the pod cannot be subtracted.
func (t *NodeTable) full(row uint32, pod *Pod) bool {
	amount := func(resource int) int64 { return t.Resources[resource].Requested[row] }
	if max(amount(CPU), amount(Memory), amount(EphemeralStorage), t.NonZeroCPU[row], t.NonZeroMemory[row]) == math.MaxInt64 {
		return true
	}
	return slices.ContainsFunc(pod.Requests.Scalars, func(s Scalar) bool { return amount(t.resource(s.Name)) == math.MaxInt64 })
}

func (t *NodeTable) sum(row uint32, pod *Pod, sign int64) {
	r := &pod.Requests
	add := func(resource int, amount int64) {
		sum := &t.Resources[resource].Requested[row]
		*sum = quantity.Sum(*sum, sign*amount)
	}
	add(CPU, r.MilliCPU)
	add(Memory, r.Memory)
	add(EphemeralStorage, r.EphemeralStorage)
	add(PodCount, r.Pods)
	for _, scalar := range r.Scalars {
		add(t.resource(scalar.Name), scalar.Value)
	}
	t.NonZeroCPU[row] = quantity.Sum(t.NonZeroCPU[row], sign*pod.NonZeroCPU)
	t.NonZeroMemory[row] = quantity.Sum(t.NonZeroMemory[row], sign*pod.NonZeroMemory)
}
