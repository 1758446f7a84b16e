package mirror

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// half returns 1.5 times n, and at least a little for the start.
func half(n uint64, least uint32) uint32 {
	return uint32(min(n+n/2+uint64(least), math.MaxUint32/2))
}

// rowsEach returns for how many of n rows an instance has room.
func (s *Source) rowsEach(n int) uint32 {
	if s.Shards == 1 {
		return max(64, half(uint64(n), 0))
	}
	return uint32((blocks(int(half(uint64(n), 0)))+s.Shards-1)/s.Shards) * plugin.BlockRows
}

// Measure sets the capacities of later regions: 1.5 times what the fullest instance needs
// now, with the named overlay rows.
func (s *Source) Measure(snap *state.Snapshot, overlays ...uint32) {
	most := capacities{}
	all := make([]needs, s.Shards)
	for row := range uint32(snap.Len()) {
		all[int(row/plugin.BlockRows)%s.Shards].add(s.projection, snap, row)
	}
	slots := uint64(s.count(snap))
	for _, row := range overlays {
		before := all[0].placed
		all[0].add(s.projection, snap, row)
		slots += all[0].placed - before
	}
	for _, n := range all {
		most.names, most.labels = max(most.names, half(n.names, 4096)), max(most.labels, half(n.labels, 1024))
		most.taints, most.ports = max(most.taints, half(n.taints, 256)), max(most.ports, half(n.ports, 256))
		most.images, most.pods = max(most.images, half(n.images, 256)), max(most.pods, half(n.pods, 1024))
		most.nominated = max(most.nominated, half(n.nominated, 64))
		for arg, elements := range n.objects {
			most.objects[arg] = max(most.objects[arg], half(elements, 64))
		}
		most.podLabels = max(most.podLabels, half(n.podLabels, 1024))
		most.podUIDs, most.podNames = max(most.podUIDs, half(n.podUIDs, 4096)), max(most.podNames, half(n.podNames, 4096))
	}
	if s.projection.HasNamespaces() {
		labels := uint64(0)
		var n needs
		for row := range uint32(snap.Namespaces.Len()) {
			labels += roomFor(len(snap.Namespaces.Labels.Row(row)))
			n.addNamespace(s.projection, snap, row)
		}
		for arg, elements := range n.objects {
			most.objects[arg] = max(most.objects[arg], half(elements, 64))
		}
		most.namespaces, most.namespaceLabels = half(uint64(snap.Namespaces.Len()), 16), half(labels, 64)
	}
	most.rows, most.overlays, most.slots = s.rowsEach(snap.Len()), 8, half(slots, 256)
	// New strings are known only when rows have been written. So there is room for the
	// known ones, and the first full write of a large cluster may need more.
	most.strings, most.stringBytes = half(uint64(s.dict.Len()), 1024), half(s.dict.size(), 16384)
	most.podRoom = half(uint64(len(s.record)), 4096)
	if s.otherRoom > 0 {
		most.batch, most.records = 1, s.otherRoom
	}
	s.room = most
}

// Size returns what the columns of a snapshot take in one region, in bytes, without room to
// grow. It depends on the snapshot alone, not on how many mirrors share the rows.
func (s *Source) Size(snap *state.Snapshot) int64 {
	var n needs
	for row := range uint32(snap.Len()) {
		n.add(s.projection, snap, row)
	}
	for row := range uint32(snap.Namespaces.Len()) {
		n.addNamespace(s.projection, snap, row)
	}
	exact := capacities{
		rows: uint32(snap.Len()), names: uint32(n.names), labels: uint32(n.labels), taints: uint32(n.taints), ports: uint32(n.ports),
		images: uint32(n.images), pods: uint32(n.pods), nominated: uint32(n.nominated), slots: uint32(n.placed), podLabels: uint32(n.podLabels),
		podUIDs: uint32(n.podUIDs), podNames: uint32(n.podNames), namespaces: uint32(snap.Namespaces.Len()),
	}
	for arg, elements := range n.objects {
		exact.objects[arg] = uint32(min(elements, math.MaxUint32/2))
	}
	layout, err := wire.NewLayout(s.projection.spec(&exact))
	if err != nil { // too large for one region
		return math.MaxUint32
	}
	return int64(layout.Size)
}

// needs is how many elements the lists of an instance have.
type needs struct {
	names, labels, taints, ports, images, pods uint64
	nominated                                  uint64
	podLabels, podUIDs, podNames               uint64
	placed                                     uint64   // pods that the plugin sees
	objects                                    []uint64 // by arg
}

// add counts a row. What the plugin does not see does not count, so that the size of the region does
// not tell of it.
func (n *needs) add(p *Projection, snap *state.Snapshot, row uint32) {
	t := &snap.Nodes
	n.names += roomFor(len(snap.Name(row)))
	n.labels += roomFor(len(t.Labels.Row(row)))
	n.taints += roomFor(len(t.TaintSets[t.TaintSet[row]]))
	n.ports += roomFor(len(t.Ports.Row(row)))
	n.images += roomFor(len(t.Images.Row(row)))
	n.addObjects(p, snap, wire.JoinNode, func(feed int) state.Cell { return t.Cell(row, feed) })
	if !p.HasPods() {
		return
	}
	pods := n.addPods(p, snap, t.Pods.Row(row))
	n.pods, n.placed = n.pods+roomFor(pods), n.placed+uint64(pods)
	if p.HasNominated() {
		nominated := n.addPods(p, snap, t.Nominated.Row(row))
		n.nominated, n.placed = n.nominated+roomFor(nominated), n.placed+uint64(nominated)
	}
}

// addNamespace counts what objects say of a namespace that the plugin sees.
func (n *needs) addNamespace(p *Projection, snap *state.Snapshot, row uint32) {
	t := &snap.Namespaces
	if ns := t.Namespace[row]; ns != nil && p.Sees(ns.Name) {
		n.addObjects(p, snap, wire.JoinNamespace, func(feed int) state.Cell { return t.Cell(row, feed) })
	}
}

// addObjects counts what the plugin reads of the objects of a row.
func (n *needs) addObjects(p *Projection, snap *state.Snapshot, join string, cell func(feed int) state.Cell) {
	for i := range p.objects {
		view := &p.objects[i]
		if view.Join != join {
			continue
		}
		has := cell(snap.Feed(p.objectKeys[i])).Columns
		for column, arg := range view.Args {
			for len(n.objects) <= arg {
				n.objects = append(n.objects, 0)
			}
			n.objects[arg] += roomFor(len(has.NumbersOf(column)) + len(has.TextsOf(column)))
		}
	}
}

// addPods counts the texts and labels of pods that the plugin sees, and returns how many there are.
func (n *needs) addPods(p *Projection, snap *state.Snapshot, slots []uint32) (pods int) {
	for _, slot := range slots {
		if pod := snap.Pods.Pod[slot]; p.Sees(pod.Namespace) {
			pods++
			n.podLabels += roomFor(len(snap.Pods.Labels.Row(slot)))
			n.podUIDs += roomFor(len(pod.UID))
			n.podNames += roomFor(len(pod.Name))
		}
	}
	return pods
}

// Largest names the largest columns of a region made now, for messages.
func (s *Source) Largest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec := s.projection.spec(&s.room)
	return Largest(&spec)
}

// Largest names the largest columns of a region, for messages.
func Largest(spec *wire.LayoutSpec) string {
	type entry struct {
		name  string
		bytes uint64
	}
	var all []entry
	for _, t := range spec.Tables {
		for _, c := range t.Columns {
			n := uint64(c.Capacity)
			if n == 0 {
				n = uint64(t.Capacity) + uint64(t.Overlays)
			}
			e := entry{columnName(t.ID, c.ID), n * uint64(c.Type.Size())}
			if i := slices.IndexFunc(all, func(o entry) bool { return o.name == e.name }); i >= 0 {
				all[i].bytes += e.bytes
			} else {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(b.bytes, a.bytes) })
	var out []string
	for _, e := range all[:min(3, len(all))] {
		out = append(out, fmt.Sprintf("%s (%d bytes)", e.name, e.bytes))
	}
	return strings.Join(out, ", ")
}

// HostBytes estimates what the host keeps for the mirrors: strings with their ids, and where
// each list of each row lies.
func (s *Source) HostBytes() uint64 {
	const perString, perSpan, perNumber = 96, 12, 128
	lists := uint64(1)
	for _, name := range []string{"name", "labels", "taints", "ports", "images", "pods", "nominated"} {
		if s.projection.node[name] {
			lists++
		}
	}
	rows := uint64(s.room.rows) * uint64(s.Shards) * (16 + lists*perSpan + 16)
	slots := uint64(0)
	if s.projection.HasPods() {
		slots = uint64(s.room.slots) * uint64(s.Shards) * (8 + 3*perSpan)
	}
	if s.slots != nil {
		slots += uint64(len(s.slots.host)) * perNumber
	}
	return rows + slots + uint64(s.dict.Len())*perString + s.dict.size() + uint64(cap(s.record))
}
