package mirror

import (
	"encoding/binary"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// writeRow writes what changed in a row of the snapshot to a local row.
func (m *Mirror) writeRow(snap *state.Snapshot, row, local uint32) error {
	t := &snap.Nodes
	for uint32(len(m.objectGeneration)) <= local {
		m.objectGeneration = append(m.objectGeneration, 0)
		m.podsGeneration = append(m.podsGeneration, 0)
		m.feedsGeneration = append(m.feedsGeneration, 0)
	}
	moved := m.objectGeneration[local] != t.ObjectGeneration[row]
	if moved {
		if err := m.writeObject(snap, row, local); err != nil {
			return err
		}
		m.objectGeneration[local] = t.ObjectGeneration[row]
	}
	if moved || m.feedsGeneration[local] != t.FeedsGeneration[row] || m.podsGeneration[local] != t.PodsGeneration[row] {
		m.writeFeeds(snap, row, local)
		if err := m.writeObjects(snap, row, local); err != nil {
			return err
		}
		m.feedsGeneration[local] = t.FeedsGeneration[row]
	}
	if moved || m.podsGeneration[local] != t.PodsGeneration[row] {
		if err := m.writePods(snap, row, local); err != nil {
			return err
		}
		m.podsGeneration[local] = t.PodsGeneration[row]
	}
	if m.cols.generation != nil {
		m.u64(m.cols.generation, local, max(t.ObjectGeneration[row], t.PodsGeneration[row], t.FeedsGeneration[row]))
	}
	return nil
}

// writeObject writes the columns that come from the node object.
func (m *Mirror) writeObject(snap *state.Snapshot, row, local uint32) error {
	t, c, p, d := &snap.Nodes, m.cols, m.src.projection, &m.src.dict
	node := t.Node[row]
	if c.flags != nil {
		m.u8(c.flags, local, t.Flags[row])
	}
	for i, column := range c.allocatable {
		m.u64(column, local, uint64(m.resource(snap, i, row, true)))
	}
	for i, column := range c.capacity {
		m.u64(column, local, uint64(node.Capacity(p.resources[i])))
	}
	if c.createdAt != nil {
		m.u64(c.createdAt, local, uint64(node.CreatedAt()))
	}
	for i, column := range c.label {
		key := snap.Strings.Lookup(p.nodeLabels[i])
		m.u32(column, local, d.of(t.Labels.Key(key).At(row)))
	}
	for i, column := range c.annotations {
		m.u32(column, local, m.optional(node.Object.Annotations, p.nodeAnnotations[i]))
	}
	for i, column := range c.conditions {
		m.u8(column, local, condition(node.Object, p.nodeConditions[i]))
	}
	if c.zone != nil {
		m.u32(c.zone, local, d.of(zone(snap, row)))
	}
	if err := m.writeText(c.name, &m.names, local, node.Name); err != nil {
		return err
	}
	if c.labels.spans != nil {
		if err := m.writePairs(c.labels, &m.labels, local, t.Labels.Row(row)); err != nil {
			return err
		}
	}
	if c.taints.spans != nil {
		taints := t.TaintSets[t.TaintSet[row]]
		out, err := m.span(c.taints, &m.taints, local, uint32(len(taints)))
		if err != nil {
			return err
		}
		for i, taint := range taints {
			put(out[12*i:], d.of(taint.Key), d.of(taint.Value), uint32(taint.Effect))
		}
	}
	if c.images.spans != nil {
		images := t.Images.Row(row)
		out, err := m.span(c.images, &m.images, local, uint32(len(images)))
		if err != nil {
			return err
		}
		for i, image := range images {
			put(out[16*i:], d.of(image.Name), 0, uint32(image.Size), uint32(image.Size>>32))
		}
	}
	return nil
}

// writeFeeds writes the columns that come from feeds.
func (m *Mirror) writeFeeds(snap *state.Snapshot, row, local uint32) {
	for i, column := range m.cols.feed {
		m.u64(column, local, uint64(snap.Nodes.Cell(row, m.feeds[i]).Value))
	}
	for i, column := range m.cols.feedState {
		m.u8(column, local, snap.Nodes.Cell(row, m.feeds[i]).State)
	}
	for i, column := range m.cols.requestedSince {
		m.u64(column, local, uint64(snap.RequestedSince(row, m.feeds, m.src.projection.resources[i])))
	}
}

// writeObjects writes the columns that come from objects of the node.
func (m *Mirror) writeObjects(snap *state.Snapshot, row, local uint32) error {
	return m.writeViews(wire.JoinNode, local, func(feed int) state.Cell { return snap.Nodes.Cell(row, feed) })
}

// writeViews writes the columns of views of a join to a local row.
func (m *Mirror) writeViews(join string, local uint32, cell func(feed int) state.Cell) error {
	for len(m.objectArenas) < len(m.cols.objects) {
		m.objectArenas = append(m.objectArenas, arena{})
	}
	for i := range m.objects {
		view := &m.src.projection.objects[i]
		if view.Join != join {
			continue
		}
		has := cell(m.objects[i]).Columns
		for column, arg := range view.Args {
			numbers, texts := has.NumbersOf(column), has.TextsOf(column)
			out, err := m.span(m.cols.objects[arg], &m.objectArenas[arg], local, uint32(len(numbers)+len(texts)))
			if err != nil {
				return err
			}
			for k, n := range numbers {
				binary.LittleEndian.PutUint64(out[8*k:], uint64(n))
			}
			for k, text := range texts {
				id := uint32(0)
				if text != nil {
					id = m.src.dict.Intern(*text)
				}
				put(out[4*k:], id)
			}
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

// writeText writes a text if its column is declared.
func (m *Mirror) writeText(l list, a *arena, row uint32, text string) error {
	if l.spans == nil {
		return nil
	}
	out, err := m.span(l, a, row, uint32(len(text)))
	if err != nil {
		return err
	}
	copy(out, text)
	return nil
}

// writePods writes the columns that come from the row's pods.
func (m *Mirror) writePods(snap *state.Snapshot, row, local uint32) error {
	t, c, d := &snap.Nodes, m.cols, &m.src.dict
	for i, column := range c.requested {
		m.u64(column, local, uint64(m.resource(snap, i, row, false)))
	}
	if len(c.nonZero) > 0 {
		m.u64(c.nonZero[0], local, uint64(t.NonZeroCPU[row]))
		m.u64(c.nonZero[1], local, uint64(t.NonZeroMemory[row]))
	}
	if c.ports.spans != nil {
		ports := t.Ports.Row(row)
		out, err := m.span(c.ports, &m.ports, local, uint32(len(ports)))
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
	if err := m.writeSlots(snap, c.pods, &m.pods, local, t.Pods.Row(row)); err != nil || c.nominated.spans == nil {
		return err
	}
	return m.writeSlots(snap, c.nominated, &m.nominated, local, t.Nominated.Row(row))
}

// writeSlots writes a list of pods of a row, and these pods.
func (m *Mirror) writeSlots(snap *state.Snapshot, l list, a *arena, local uint32, slots []uint32) error {
	visible := m.src.visible(snap, slots)
	for _, pod := range visible {
		if err := m.fillSlot(snap, pod.host, pod.slot); err != nil {
			return err
		}
		m.showSlots(pod.slot + 1)
	}
	out, err := m.span(l, a, local, uint32(len(visible)))
	if err != nil {
		return err
	}
	for i, pod := range visible {
		put(out[4*i:], pod.slot)
	}
	return nil
}

// clearRow clears a local row whose node is gone. Arenas keep stale elements of declared
// columns, outside of every span.
func (m *Mirror) clearRow(local uint32) {
	for i := range m.layout.Tables[nodesTable].Columns {
		if c := &m.layout.Tables[nodesTable].Columns[i]; c.Capacity == 0 {
			size := uint32(c.Type.Size())
			clear(m.mem[c.Data+local*size : c.Data+(local+1)*size])
			m.bytes += uint64(size)
		}
	}
	for _, a := range [...]*arena{&m.names, &m.labels, &m.taints, &m.ports, &m.images, &m.pods, &m.nominated} {
		if int(local) < len(a.spans) {
			a.spans[local].Len = 0 // the place is kept for the next node of the row
		}
	}
	for arg := range m.src.projection.args(wire.JoinNode) {
		if arg < len(m.objectArenas) && int(local) < len(m.objectArenas[arg].spans) {
			m.objectArenas[arg].spans[local].Len = 0
		}
	}
	if int(local) < len(m.objectGeneration) {
		m.objectGeneration[local], m.podsGeneration[local], m.feedsGeneration[local] = 0, 0, 0
	}
	if int(local) < len(m.nodes) {
		m.nodes[local] = ""
	}
}

// writePairs writes labels, translating the host's ids.
func (m *Mirror) writePairs(l list, a *arena, row uint32, pairs []wire.Pair) error {
	out, err := m.span(l, a, row, uint32(len(pairs)))
	if err != nil {
		return err
	}
	d := &m.src.dict
	if m.src.projection.restricted() { // the host's order says which strings others have used first
		pairs = append(m.src.pairs[:0], pairs...)
		slices.SortFunc(pairs, func(a, b wire.Pair) int { return strings.Compare(d.host.String(a.Key), d.host.String(b.Key)) })
		m.src.pairs = pairs
	}
	for i, pair := range pairs {
		put(out[8*i:], d.of(pair.Key), d.of(pair.Value))
	}
	return nil
}

// optional returns the id of a map's value; 0 for an absent key.
func (m *Mirror) optional(values map[string]string, key string) uint32 {
	if value, ok := values[key]; ok {
		return m.src.dict.Intern(value)
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

// findResources looks up the indices of the projection's resources and feeds in the snapshot.
func (m *Mirror) findResources(snap *state.Snapshot) {
	m.resources = m.resources[:0]
	for _, name := range m.src.projection.resources {
		m.resources = append(m.resources, snap.ResourceIndex(name))
	}
	m.feeds = m.feeds[:0]
	for _, name := range m.src.projection.feeds {
		m.feeds = append(m.feeds, snap.Feed(name))
	}
	m.objects = m.objects[:0]
	for _, key := range m.src.projection.objectKeys {
		m.objects = append(m.objects, snap.Feed(key))
	}
}

// resource returns how much of the i-th resource a row has, or how much is requested of it.
func (m *Mirror) resource(snap *state.Snapshot, i int, row uint32, allocatable bool) int64 {
	if i = m.resources[i]; i < 0 {
		return 0
	}
	if allocatable {
		return snap.Nodes.Resources[i].Allocatable[row]
	}
	return snap.Nodes.Resources[i].Requested[row]
}

// put writes u32s in a row.
func put(out []byte, values ...uint32) {
	for i, v := range values {
		binary.LittleEndian.PutUint32(out[4*i:], v)
	}
}
