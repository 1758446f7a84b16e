package wasm

import (
	"encoding/binary"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// writeRow writes a row of the snapshot to a local row, as far as it changed.
func (s *shard) writeRow(snap *state.Snapshot, row, local uint32) error {
	t := &snap.Nodes
	for uint32(len(s.objectGeneration)) <= local {
		s.objectGeneration = append(s.objectGeneration, 0)
		s.podsGeneration = append(s.podsGeneration, 0)
	}
	moved := s.objectGeneration[local] != t.ObjectGeneration[row]
	if moved {
		if err := s.writeObject(snap, row, local); err != nil {
			return err
		}
		s.objectGeneration[local] = t.ObjectGeneration[row]
	}
	if moved || s.podsGeneration[local] != t.PodsGeneration[row] {
		if err := s.writePods(snap, row, local); err != nil {
			return err
		}
		s.podsGeneration[local] = t.PodsGeneration[row]
	}
	if s.cols.generation != nil {
		s.u64(s.cols.generation, local, max(t.ObjectGeneration[row], t.PodsGeneration[row]))
	}
	return nil
}

// writeObject writes what comes from the node object.
func (s *shard) writeObject(snap *state.Snapshot, row, local uint32) error {
	t, c, p, d := &snap.Nodes, s.cols, s.plug.projection, &s.src.dict
	node := t.Node[row]
	if c.flags != nil {
		s.u8(c.flags, local, t.Flags[row])
	}
	for i, column := range c.allocatable {
		s.u64(column, local, uint64(s.resource(snap, i, row, true)))
	}
	for i, column := range c.label {
		key := snap.Strings.Lookup(p.nodeLabels[i])
		s.u32(column, local, d.of(t.Labels.Key(key).At(row)))
	}
	for i, column := range c.annotations {
		s.u32(column, local, s.optional(node.Object.Annotations, p.nodeAnnotations[i]))
	}
	for i, column := range c.conditions {
		s.u8(column, local, condition(node.Object, p.nodeConditions[i]))
	}
	if c.zone != nil {
		s.u32(c.zone, local, d.of(zone(snap, row)))
	}
	if err := s.writeText(c.name, &s.names, local, node.Name); err != nil {
		return err
	}
	if c.labels.spans != nil {
		if err := s.writePairs(c.labels, &s.labels, local, t.Labels.Row(row)); err != nil {
			return err
		}
	}
	if c.taints.spans != nil {
		taints := t.TaintSets[t.TaintSet[row]]
		out, err := s.span(c.taints, &s.taints, local, uint32(len(taints)))
		if err != nil {
			return err
		}
		for i, taint := range taints {
			put(out[12*i:], d.of(taint.Key), d.of(taint.Value), uint32(taint.Effect))
		}
	}
	if c.images.spans != nil {
		images := t.Images.Row(row)
		out, err := s.span(c.images, &s.images, local, uint32(len(images)))
		if err != nil {
			return err
		}
		for i, image := range images {
			put(out[16*i:], d.of(image.Name), 0, uint32(image.Size), uint32(image.Size>>32))
		}
	}
	return nil
}

// zone returns the host's id of a node's zone.
func zone(snap *state.Snapshot, row uint32) uint32 {
	for _, key := range []string{v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone} {
		if id := snap.Nodes.Labels.Key(snap.Strings.Lookup(key)).At(row); id != 0 {
			return id
		}
	}
	return 0
}

// writeText writes bytes, if their column is declared.
func (s *shard) writeText(l list, a *arena, row uint32, text string) error {
	if l.spans == nil {
		return nil
	}
	out, err := s.span(l, a, row, uint32(len(text)))
	if err != nil {
		return err
	}
	copy(out, text)
	return nil
}

// writePods writes what comes from the row's pods.
func (s *shard) writePods(snap *state.Snapshot, row, local uint32) error {
	t, c, d := &snap.Nodes, s.cols, &s.src.dict
	for i, column := range c.requested {
		s.u64(column, local, uint64(s.resource(snap, i, row, false)))
	}
	if len(c.nonZero) > 0 {
		s.u64(c.nonZero[0], local, uint64(t.NonZeroCPU[row]))
		s.u64(c.nonZero[1], local, uint64(t.NonZeroMemory[row]))
	}
	if c.ports.spans != nil {
		ports := t.Ports.Row(row)
		out, err := s.span(c.ports, &s.ports, local, uint32(len(ports)))
		if err != nil {
			return err
		}
		for i, port := range ports {
			put(out[8*i:], d.of(port.IP), uint32(port.Port)|uint32(port.Protocol)<<16)
		}
	}
	if c.pods.spans == nil {
		return nil
	}
	visible := s.src.visible[:0]
	for _, slot := range t.Pods.Row(row) {
		if s.plug.projection.sees(snap.Pods.Pod[slot].Namespace) {
			visible = append(visible, slot)
			if err := s.fillSlot(snap, slot); err != nil {
				return err
			}
		}
	}
	s.src.visible = visible
	out, err := s.span(c.pods, &s.pods, local, uint32(len(visible)))
	if err != nil {
		return err
	}
	for i, slot := range visible {
		put(out[4*i:], slot)
	}
	return nil
}

// clearRow empties a local row whose node is gone. Arenas keep stale elements of
// declared columns, which no span covers.
func (s *shard) clearRow(local uint32) {
	for i := range s.layout.Tables[nodesTable].Columns {
		if c := &s.layout.Tables[nodesTable].Columns[i]; c.Capacity == 0 {
			size := uint32(c.Type.Size())
			clear(s.mem[c.Data+local*size : c.Data+(local+1)*size])
			s.bytes += uint64(size)
		}
	}
	for _, a := range [...]*arena{&s.names, &s.labels, &s.taints, &s.ports, &s.images, &s.pods} {
		if int(local) < len(a.spans) {
			a.spans[local].Len = 0 // its place is kept for the next node of the row
		}
	}
	if int(local) < len(s.objectGeneration) {
		s.objectGeneration[local], s.podsGeneration[local] = 0, 0
	}
	if int(local) < len(s.nodes) {
		s.nodes[local] = ""
	}
}

// writePairs writes labels, whose ids are the host's.
func (s *shard) writePairs(l list, a *arena, row uint32, pairs []wire.Pair) error {
	out, err := s.span(l, a, row, uint32(len(pairs)))
	if err != nil {
		return err
	}
	for i, pair := range pairs {
		put(out[8*i:], s.src.dict.of(pair.Key), s.src.dict.of(pair.Value))
	}
	return nil
}

// optional returns the id of a map's value, 0 for a key that is not there.
func (s *shard) optional(m map[string]string, key string) uint32 {
	if value, ok := m[key]; ok {
		return s.src.dict.Intern(value)
	}
	return 0
}

func condition(node *v1.Node, kind string) uint8 {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; string(c.Type) == kind {
			switch c.Status {
			case v1.ConditionTrue:
				return 1
			case v1.ConditionFalse:
				return 2
			}
			return 3
		}
	}
	return 0
}

// findResources looks up where the snapshot has the projection's resources.
func (s *shard) findResources(snap *state.Snapshot) {
	s.resources = s.resources[:0]
	for _, name := range s.plug.projection.resources {
		s.resources = append(s.resources, snap.ResourceIndex(name))
	}
}

// resource returns what a row has or what is requested of the i-th resource.
func (s *shard) resource(snap *state.Snapshot, i int, row uint32, allocatable bool) int64 {
	if i = s.resources[i]; i < 0 {
		return 0
	}
	if allocatable {
		return snap.Nodes.Resources[i].Allocatable[row]
	}
	return snap.Nodes.Resources[i].Requested[row]
}

// requested returns what a pod requests of a resource.
func requested(r *state.Resources, name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return r.MilliCPU
	case v1.ResourceMemory:
		return r.Memory
	case v1.ResourceEphemeralStorage:
		return r.EphemeralStorage
	case v1.ResourcePods:
		return r.Pods
	}
	return r.Scalar(name)
}

// put writes u32s one after the other.
func put(out []byte, values ...uint32) {
	for i, v := range values {
		binary.LittleEndian.PutUint32(out[4*i:], v)
	}
}
