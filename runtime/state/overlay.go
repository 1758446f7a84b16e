package state

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Overlay adds an overlay row: a copy of a row that AddPod and RemovePod may
// change. It is gone with the next DropOverlays or update.
//
// Columns may move when the first overlays of a snapshot are made, so views of
// columns taken before are stale after it.
func (s *Snapshot) Overlay(row uint32) uint32 {
	t := &s.Nodes
	if t.used == t.overlays {
		s.growOverlays()
	}
	o := uint32(t.capacity + t.used)
	t.used++
	t.Node[o], t.Rank[o], t.Flags[o] = t.Node[row], t.Rank[row], t.Flags[row]
	for i := range t.Resources {
		r := &t.Resources[i]
		r.Allocatable[o], r.Requested[o] = r.Allocatable[row], r.Requested[row]
	}
	t.NonZeroCPU[o], t.NonZeroMemory[o] = t.NonZeroCPU[row], t.NonZeroMemory[row]
	t.TaintSet[o] = t.TaintSet[row]
	t.ObjectGeneration[o], t.PodsGeneration[o] = t.ObjectGeneration[row], t.PodsGeneration[row]
	t.Labels.copyRow(o, row)
	t.Ports.Set(o, t.Ports.Row(row))
	t.Images.Set(o, t.Images.Row(row))
	t.Pods.Set(o, t.Pods.Row(row))
	return o
}

// growOverlays makes room for more overlay rows. Existing ones keep their index.
func (s *Snapshot) growOverlays() {
	t := &s.Nodes
	t.grow(t.capacity, max(8, 2*t.overlays))
}

// AddPod adds a pod to an overlay row. The row is no longer that of any
// generation: its PodsGeneration is 0.
func (s *Snapshot) AddPod(overlay uint32, pod *Pod) {
	t := &s.Nodes
	slot := s.Pods.spare(pod, s.Strings)
	t.Pods.Append(overlay, slot)
	for _, p := range t.appendPorts(nil, pod) {
		t.Ports.Append(overlay, p)
	}
	t.account(overlay, pod, 1)
}

// RemovePod removes a pod from an overlay row and reports whether it was there.
// As after AddPod, the row is of no generation.
func (s *Snapshot) RemovePod(overlay uint32, uid types.UID) bool {
	t := &s.Nodes
	slots := slices.Clone(t.Pods.Row(overlay))
	i := slices.IndexFunc(slots, func(slot uint32) bool { return s.Pods.Pod[slot].UID == uid })
	if i < 0 {
		return false
	}
	pod := s.Pods.Pod[slots[i]]
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
	t.account(overlay, pod, -1)
	return true
}

// DropOverlays removes all overlay rows and the pods that only they hold.
func (s *Snapshot) DropOverlays() {
	t := &s.Nodes
	for i := range t.used {
		t.clearOverlay(uint32(t.capacity + i))
	}
	t.used = 0
	s.Pods.dropSpares()
}

// account adds a pod to the sums of an overlay row, or subtracts it.
func (t *NodeTable) account(row uint32, pod *Pod, sign int64) {
	t.PodsGeneration[row] = 0
	r := &pod.Requests
	t.Resources[CPU].Requested[row] += sign * r.MilliCPU
	t.Resources[Memory].Requested[row] += sign * r.Memory
	t.Resources[EphemeralStorage].Requested[row] += sign * r.EphemeralStorage
	t.Resources[PodCount].Requested[row] += sign * r.Pods
	for _, scalar := range r.Scalars {
		t.Resources[t.resource(scalar.Name)].Requested[row] += sign * scalar.Value
	}
	t.NonZeroCPU[row] += sign * pod.NonZeroCPU
	t.NonZeroMemory[row] += sign * pod.NonZeroMemory
}
