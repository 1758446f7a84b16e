package mirror

import (
	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

// syncSlots writes the pods that changed. Pods that moved to another mirror were written with
// their row.
func (m *Mirror) syncSlots(snap *state.Snapshot, slots []uint32, known bool) error {
	n := m.src.count(snap)
	if n > m.layout.Tables[podsTable].Capacity {
		return ErrNoRoom
	}
	for uint32(len(m.slotGeneration)) < n {
		m.slotGeneration = append(m.slotGeneration, 0)
	}
	if own := m.src.slots; own != nil {
		switch m.step {
		case own.step:
			slots = nil
		case own.step - 1:
			slots = own.touched
		default:
			known = false
		}
		m.step = own.step
	}
	if known {
		for _, slot := range slots {
			if slot >= n {
				continue // cleared below
			}
			if err := m.writeSlot(snap, slot); err != nil {
				return err
			}
		}
	} else {
		for slot := range n {
			if err := m.writeSlot(snap, slot); err != nil {
				return err
			}
		}
	}
	for slot := n; slot < m.slots; slot++ {
		m.clearSlot(slot)
	}
	if n != m.slots {
		m.slots = n
		m.layout.SetRows(m.mem, podsTable, n)
	}
	return nil
}

// writeSlot updates a slot of the pods table: it fills it if its pod is on a node of this
// mirror, and clears it otherwise.
func (m *Mirror) writeSlot(snap *state.Snapshot, slot uint32) error {
	if host, ok := m.src.hostSlot(snap, slot); ok {
		if row, ok := snap.Row(snap.Pods.Pod[host].NodeName()); ok && m.holds(row) {
			return m.fillSlot(snap, host, slot)
		}
	}
	if int(slot) < len(m.slotGeneration) && m.slotGeneration[slot] != 0 {
		m.clearSlot(slot)
	}
	return nil
}

// fillSlot writes the pod of a slot of the snapshot if the slot holds another generation. Slots
// that it writes for an overlay row belong to no other row of the mirror.
func (m *Mirror) fillSlot(snap *state.Snapshot, host, slot uint32) error {
	if slot >= m.layout.Tables[podsTable].Capacity {
		return ErrNoRoom
	}
	for uint32(len(m.slotGeneration)) <= slot {
		m.slotGeneration = append(m.slotGeneration, 0)
	}
	generation := snap.Pods.Generation(host)
	if m.slotGeneration[slot] == generation && generation != 0 {
		return nil
	}
	if m.overlaying {
		m.spares = append(m.spares, slot)
	}
	pod, c, p, d := snap.Pods.Pod[host], m.cols, m.src.projection, &m.src.dict
	if c.podNamespace != nil {
		m.u32(c.podNamespace, slot, d.of(snap.Pods.Namespace[host]))
	}
	if c.podPriority != nil {
		m.u32(c.podPriority, slot, uint32(pod.Priority))
	}
	for i, column := range c.podRequests {
		m.u64(column, slot, uint64(pod.Requests.Amount(p.resources[i])))
	}
	for i, column := range c.podAnnotations {
		m.u32(column, slot, m.optional(pod.Object.Annotations, p.podAnnotations[i]))
	}
	for i, column := range c.podLabel {
		m.u32(column, slot, m.optional(pod.Object.Labels, p.podLabels[i]))
	}
	if c.podOwner != nil {
		m.u32(c.podOwner, slot, m.owner(pod.Object))
	}
	if c.podFlags != nil {
		var flags uint8
		if pod.Object.DeletionTimestamp != nil {
			flags |= abi.PodTerminating
		}
		m.u8(c.podFlags, slot, flags)
	}
	m.writeLater(pod, slot)
	if c.podLabels.spans != nil {
		if err := m.writePairs(c.podLabels, &m.podLabels, slot, snap.Pods.Labels.Row(host)); err != nil {
			return err
		}
	}
	if err := m.writeText(c.podUID, &m.podUIDs, slot, string(pod.UID)); err != nil {
		return err
	}
	if err := m.writeText(c.podName, &m.podNames, slot, pod.Name); err != nil {
		return err
	}
	m.slotGeneration[slot] = generation
	return nil
}

// writeLater writes the columns of pods that came with ABI 1.1.
func (m *Mirror) writeLater(pod *state.Pod, slot uint32) {
	c := m.cols
	for i, column := range c.podLimits {
		m.u64(column, slot, uint64(pod.Limit(m.src.projection.resources[i])))
	}
	if c.podQOS != nil {
		m.u32(c.podQOS, slot, m.src.dict.Intern(string(pod.QOS())))
	}
	if c.podAssignedAt != nil {
		m.u64(c.podAssignedAt, slot, uint64(pod.AssignedAt))
	}
	if c.podCreatedAt != nil {
		m.u64(c.podCreatedAt, slot, uint64(pod.CreatedAt()))
	}
	if c.podState != nil {
		m.u8(c.podState, slot, pod.State())
	}
}

// showSlots makes the table have at least n slots.
func (m *Mirror) showSlots(n uint32) {
	if n > m.slots {
		m.slots = n
		m.layout.SetRows(m.mem, podsTable, n)
	}
}

// clearSlot clears a slot, so that nothing of its pod remains.
func (m *Mirror) clearSlot(slot uint32) {
	t := &m.layout.Tables[podsTable]
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Capacity == 0 {
			size := uint32(c.Type.Size())
			clear(m.mem[c.Data+slot*size : c.Data+(slot+1)*size])
			m.bytes += uint64(size)
		}
	}
	m.wipe(m.cols.podLabels, &m.podLabels, slot, 8)
	m.wipe(m.cols.podUID, &m.podUIDs, slot, 1)
	m.wipe(m.cols.podName, &m.podNames, slot, 1)
	if int(slot) < len(m.slotGeneration) {
		m.slotGeneration[slot] = 0
	}
}

// wipe clears a row's place in an arena. The row keeps the place.
func (m *Mirror) wipe(l list, a *arena, row, size uint32) {
	if l.spans == nil || int(row) >= len(a.spans) {
		return
	}
	span := a.spans[row]
	clear(m.mem[l.arena.Data+size*span.Start : l.arena.Data+size*(span.Start+span.Cap)])
	a.spans[row].Len = 0
}

// clearSpares clears the slots that only an overlay row had.
func (m *Mirror) clearSpares() {
	for _, slot := range m.spares {
		m.clearSlot(slot)
	}
	m.spares = m.spares[:0]
}

func (m *Mirror) owner(pod *v1.Pod) uint32 {
	if name := ownerOf(pod); name != "" {
		return m.src.dict.Intern(name)
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
