package wasm

import (
	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// syncSlots writes the pods that changed, and those that changed their shard
// were written with their row.
func (s *shard) syncSlots(snap *state.Snapshot, slots []uint32, known bool) error {
	n := uint32(snap.Pods.Len())
	if n > s.layout.Tables[podsTable].Capacity {
		return errNoRoom
	}
	for uint32(len(s.slotGeneration)) < n {
		s.slotGeneration = append(s.slotGeneration, 0)
	}
	if known {
		for _, slot := range slots {
			if slot >= n {
				continue // cleared below
			}
			if err := s.writeSlot(snap, slot); err != nil {
				return err
			}
		}
	} else {
		for slot := range n {
			if err := s.writeSlot(snap, slot); err != nil {
				return err
			}
		}
	}
	for slot := n; slot < s.slots; slot++ {
		s.clearSlot(slot)
	}
	if n != s.slots {
		s.slots = n
		s.layout.SetRows(s.mem, podsTable, n)
	}
	return nil
}

// writeSlot brings a slot of the pods table up to date: filled if its pod is on a
// node of this shard and may be seen, empty otherwise.
func (s *shard) writeSlot(snap *state.Snapshot, slot uint32) error {
	if pod := snap.Pods.Pod[slot]; pod != nil && snap.Pods.Generation(slot) != 0 && s.plug.projection.sees(pod.Namespace) {
		if row, ok := snap.Row(pod.NodeName()); ok && s.holds(row) {
			return s.fillSlot(snap, slot)
		}
	}
	if int(slot) < len(s.slotGeneration) && s.slotGeneration[slot] != 0 {
		s.clearSlot(slot)
	}
	return nil
}

// fillSlot writes a pod if the slot holds another generation. What it writes for
// an overlay row is of no other row of the shard.
func (s *shard) fillSlot(snap *state.Snapshot, slot uint32) error {
	if slot >= s.layout.Tables[podsTable].Capacity {
		return errNoRoom
	}
	for uint32(len(s.slotGeneration)) <= slot {
		s.slotGeneration = append(s.slotGeneration, 0)
	}
	generation := snap.Pods.Generation(slot)
	if s.slotGeneration[slot] == generation && generation != 0 {
		return nil
	}
	if s.overlaying {
		s.spares = append(s.spares, slot)
	}
	pod, c, p, d := snap.Pods.Pod[slot], s.cols, s.plug.projection, &s.src.dict
	if c.podNamespace != nil {
		s.u32(c.podNamespace, slot, d.of(snap.Pods.Namespace[slot]))
	}
	if c.podPriority != nil {
		s.u32(c.podPriority, slot, uint32(pod.Priority))
	}
	for i, column := range c.podRequests {
		s.u64(column, slot, uint64(requested(&pod.Requests, p.resources[i])))
	}
	for i, column := range c.podAnnotations {
		s.u32(column, slot, s.optional(pod.Object.Annotations, p.podAnnotations[i]))
	}
	for i, column := range c.podLabel {
		s.u32(column, slot, s.optional(pod.Object.Labels, p.podLabels[i]))
	}
	if c.podOwner != nil {
		s.u32(c.podOwner, slot, s.owner(pod.Object))
	}
	if c.podFlags != nil {
		var flags uint8
		if pod.Object.DeletionTimestamp != nil {
			flags |= abi.PodTerminating
		}
		s.u8(c.podFlags, slot, flags)
	}
	if c.podLabels.spans != nil {
		if err := s.writePairs(c.podLabels, &s.podLabels, slot, snap.Pods.Labels.Row(slot)); err != nil {
			return err
		}
	}
	if err := s.writeText(c.podUID, &s.podUIDs, slot, string(pod.UID)); err != nil {
		return err
	}
	if err := s.writeText(c.podName, &s.podNames, slot, pod.Name); err != nil {
		return err
	}
	s.slotGeneration[slot] = generation
	return nil
}

// clearSlot empties a slot, so that nothing of its pod stays behind.
func (s *shard) clearSlot(slot uint32) {
	t := &s.layout.Tables[podsTable]
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Capacity == 0 {
			size := uint32(c.Type.Size())
			clear(s.mem[c.Data+slot*size : c.Data+(slot+1)*size])
			s.bytes += uint64(size)
		}
	}
	s.wipe(s.cols.podLabels, &s.podLabels, slot, 8)
	s.wipe(s.cols.podUID, &s.podUIDs, slot, 1)
	s.wipe(s.cols.podName, &s.podNames, slot, 1)
	if int(slot) < len(s.slotGeneration) {
		s.slotGeneration[slot] = 0
	}
}

// wipe empties the place that a row has in an arena, which it keeps.
func (s *shard) wipe(l list, a *arena, row, size uint32) {
	if l.spans == nil || int(row) >= len(a.spans) {
		return
	}
	span := a.spans[row]
	clear(s.mem[l.arena.Data+size*span.Start : l.arena.Data+size*(span.Start+span.Cap)])
	a.spans[row].Len = 0
}

// clearSpares empties the slots that an overlay row had.
func (s *shard) clearSpares() {
	for _, slot := range s.spares {
		s.clearSlot(slot)
	}
	s.spares = s.spares[:0]
}

func (s *shard) owner(pod *v1.Pod) uint32 {
	if name := ownerOf(pod); name != "" {
		return s.src.dict.Intern(name)
	}
	return 0
}

// ownerOf returns "Kind/name" of the controlling owner; empty for none.
func ownerOf(pod *v1.Pod) string {
	for i := range pod.OwnerReferences {
		if r := &pod.OwnerReferences[i]; r.Controller != nil && *r.Controller {
			return r.Kind + "/" + r.Name
		}
	}
	return ""
}
