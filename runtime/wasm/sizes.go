package wasm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
)

// half is what there is and half as much again, and a little for the start.
func half(n uint64, least uint32) uint32 {
	return uint32(min(n+n/2+uint64(least), math.MaxUint32/2))
}

// split says in how many instances n rows are held: with room to grow, each has
// a block at least.
func (p *Plugin) split(n int) int {
	if !p.sharded {
		return 1
	}
	return max(1, min(p.config.Shards, blocks(n)))
}

// blocks returns how many blocks there are of n rows and half as many.
func blocks(n int) int { return (int(half(uint64(n), 0)) + blockRows - 1) / blockRows }

// rowsEach returns how many rows an instance has room for, if there are n.
func (s *source) rowsEach(n int) uint32 {
	if s.shardCount == 1 {
		return max(64, half(uint64(n), 0))
	}
	return uint32((blocks(n)+s.shardCount-1)/s.shardCount) * blockRows
}

// measure sets the capacities of regions made from now on: what the fullest
// instance needs now, with the overlay rows that are named, and half as much
// again.
func (s *source) measure(p *projection, snap *state.Snapshot, overlays ...uint32) {
	most := capacities{}
	all := make([]needs, s.shardCount)
	for row := range uint32(snap.Len()) {
		all[int(row/blockRows)%s.shardCount].add(snap, row)
	}
	for _, row := range overlays {
		all[0].add(snap, row)
	}
	for _, n := range all {
		most.names, most.labels = max(most.names, half(n.names, 4096)), max(most.labels, half(n.labels, 1024))
		most.taints, most.ports = max(most.taints, half(n.taints, 256)), max(most.ports, half(n.ports, 256))
		most.images, most.pods = max(most.images, half(n.images, 256)), max(most.pods, half(n.pods, 1024))
		most.podLabels = max(most.podLabels, half(n.podLabels, 1024))
		most.podUIDs, most.podNames = max(most.podUIDs, half(n.podUIDs, 4096)), max(most.podNames, half(n.podNames, 4096))
	}
	if p.hasNamespaces() {
		labels := uint64(0)
		for row := range uint32(snap.Namespaces.Len()) {
			labels += roomFor(len(snap.Namespaces.Labels.Row(row)))
		}
		most.namespaces, most.namespaceLabels = half(uint64(snap.Namespaces.Len()), 16), half(labels, 64)
	}
	most.rows, most.overlays, most.slots = s.rowsEach(snap.Len()), 8, half(uint64(snap.Pods.Len()), 256)
	// Strings are known when rows have been written, so room is made for those
	// there are, and the first full write of a large cluster may ask for more.
	most.strings, most.stringBytes = half(uint64(s.dict.Len()), 1024), half(s.dict.size(), 16384)
	most.podRoom = half(uint64(len(s.record)), 4096)
	if s.otherRoom > 0 {
		most.batch, most.records = 1, s.otherRoom
	}
	s.room = most
}

// needs is how many elements the lists of an instance take.
type needs struct {
	names, labels, taints, ports, images, pods uint64
	podLabels, podUIDs, podNames               uint64
}

func (n *needs) add(snap *state.Snapshot, row uint32) {
	t := &snap.Nodes
	n.names += roomFor(len(snap.Name(row)))
	n.labels += roomFor(len(t.Labels.Row(row)))
	n.taints += roomFor(len(t.TaintSets[t.TaintSet[row]]))
	n.ports += roomFor(len(t.Ports.Row(row)))
	n.images += roomFor(len(t.Images.Row(row)))
	n.pods += roomFor(len(t.Pods.Row(row)))
	for _, slot := range t.Pods.Row(row) {
		n.podLabels += roomFor(len(snap.Pods.Labels.Row(slot)))
		n.podUIDs += roomFor(len(snap.Pods.Pod[slot].UID))
		n.podNames += roomFor(len(snap.Pods.Pod[slot].Name))
	}
}

// largest names the columns that take most of a region, for messages.
func largest(spec *wire.LayoutSpec) string {
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

// columnName returns what a manifest calls a column; its arena has the same name.
func columnName(table abi.TableID, id abi.ColumnID) string {
	if table == abi.TableStrings {
		return "strings"
	}
	if id >= abi.ArenaOf {
		id -= abi.ArenaOf
	}
	switch id {
	case abi.NodeName:
		return "node: name"
	case abi.NodeFlags:
		return "node: flags"
	case abi.NodeAllocatable:
		return "node: allocatable"
	case abi.NodeRequested:
		return "node: requested"
	case abi.NodeNonZeroRequested:
		return "node: nonZeroRequested"
	case abi.NodeLabels:
		return "node: labels"
	case abi.NodeAnnotations:
		return "nodeAnnotations"
	case abi.NodeTaints:
		return "node: taints"
	case abi.NodePorts:
		return "node: ports"
	case abi.NodeImages:
		return "node: images"
	case abi.NodeConditions:
		return "nodeConditions"
	case abi.NodePods:
		return "node: pods"
	case abi.NodeGenerations:
		return "node: generation"
	case abi.NodeLabel:
		return "nodeLabels"
	case abi.PodNamespace:
		return "pods: namespace"
	case abi.PodPriority:
		return "pods: priority"
	case abi.PodRequests:
		return "pods: requests"
	case abi.PodLabels:
		return "pods: labels"
	case abi.PodAnnotations:
		return "podAnnotations"
	case abi.PodOwner:
		return "pods: owner"
	case abi.PodLabel:
		return "podLabels"
	case abi.PodFlags:
		return "pods: flags"
	case abi.PodUID:
		return "pods: uid"
	case abi.PlacedPodName:
		return "pods: name"
	case abi.NodeZone:
		return "node: zone"
	case abi.NamespaceName:
		return "namespaces: name"
	case abi.NamespaceLabels:
		return "namespaces: labels"
	case abi.NamespaceLabel:
		return "namespaceLabels"
	}
	return fmt.Sprintf("column %d", id)
}
