package reuse

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// projection follows a part of the nodes table: the columns that plugins declare. A
// row's stamp moves when one of its columns has changed, and not when only generations
// have. Columns are compared by their hashes, under a seed that nobody can know.
type projection struct {
	columns []plugin.Read
	placed  []plugin.Read // of those, the ones of the pods table
	// namespaces are those of whose pods something is read; nil means all.
	namespaces []string
	users      int
	object     bool   // some columns come from the node's object
	pods       bool   // some come from the node's pods
	at         uint64 // in the journal
	stamps     []uint32
	seen       []seen
	next       uint32
	seed       maphash.Seed
	scratch    []byte
	// contents share answers of rows with the same in the columns; nil if that costs more
	// than to ask.
	contents *contents
	hashes   []slotHash // by slot
}

// seen is what a row was when it was looked at last.
type seen struct{ objectGeneration, podsGeneration, objectHash, podsHash uint64 }

// slotHash is the hash of what is read of a pod on a node.
type slotHash struct{ generation, hash uint64 }

func newProjection(columns []plugin.Read, namespaces []string, shared bool) *projection {
	p := &projection{columns: columns, namespaces: namespaces, seed: maphash.MakeSeed()}
	for _, c := range columns {
		p.pods = p.pods || ofPods(c.Column)
		p.object = p.object || ofObject(c.Column)
		if ofPlaced(c.Column) {
			p.placed = append(p.placed, c)
		}
	}
	if shared {
		p.contents = newContents()
	}
	return p
}

// nameOf names a projection.
func nameOf(columns []plugin.Read, namespaces []string, shared bool) string {
	b := appendReads(nil, columns)
	b = appendReads(b, []plugin.Read{{Args: namespaces}})
	if shared {
		b = append(b, 1)
	}
	return string(b)
}

// reset forgets all rows: ids of strings in columns are others.
func (p *projection) reset() {
	p.stamps, p.seen, p.hashes = p.stamps[:0], p.seen[:0], p.hashes[:0]
	if p.contents != nil {
		p.contents.reset()
	}
}

// follow takes in what changed in the snapshot.
func (p *projection) follow(s *state.Snapshot, j *journal) {
	if p.at == j.end() && len(p.stamps) == s.Len() {
		return
	}
	if p.next > math.MaxUint32-uint32(s.Len()) { // a stamp would come again
		panic("BUG: reuse: more than four billion changes")
	}
	rows, ok := j.since(p.at)
	p.at = j.end()
	known := min(len(p.stamps), s.Len())
	p.stamps, p.seen = p.stamps[:known], p.seen[:known]
	if p.contents != nil {
		p.contents.cut(known)
	}
	if ok {
		for _, row := range rows {
			if int(row) < known {
				p.look(s, row)
			}
		}
	} else {
		for row := range known {
			p.look(s, uint32(row))
		}
	}
	for row := known; row < s.Len(); row++ {
		p.stamps, p.seen = append(p.stamps, 0), append(p.seen, seen{})
		p.look(s, uint32(row))
	}
}

// look compares a row with what it was.
func (p *projection) look(s *state.Snapshot, row uint32) {
	t, was := &s.Nodes, &p.seen[row]
	moved := p.stamps[row] == 0
	if g := t.ObjectGeneration[row]; p.object && g != was.objectGeneration {
		was.objectGeneration = g
		if h := p.hash(s, row, ofObject); h != was.objectHash || moved {
			was.objectHash, moved = h, true
		}
	}
	if g := t.PodsGeneration[row]; p.pods && g != was.podsGeneration {
		was.podsGeneration = g
		if h := p.hash(s, row, ofPods); h != was.podsHash || moved {
			was.podsHash, moved = h, true
		}
	}
	if !moved {
		return
	}
	p.next++
	p.stamps[row] = p.next
	if p.contents != nil {
		p.contents.set(row, maphash.Comparable(p.seed, [...]uint64{was.objectHash, was.podsHash}), p.next)
	}
}

// hash returns the hash of those columns of a row.
func (p *projection) hash(s *state.Snapshot, row uint32, of func(abi.ColumnID) bool) uint64 {
	b := p.scratch[:0]
	pods := false
	for i := range p.columns {
		switch c := &p.columns[i]; {
		case c.Column == abi.NodePods && c.Args != nil:
			pods = of(c.Column)
		case of(c.Column):
			b = appendColumn(b, s, row, c)
		}
	}
	p.scratch = b
	h := maphash.Bytes(p.seed, b)
	if pods {
		for _, slot := range s.Nodes.Pods.Row(row) {
			h += p.placedHash(s, slot) // their order means nothing (ABI-4.7)
		}
	}
	return h
}

// placedHash returns the hash of what is read of a pod on a node; 0 if that is nothing.
func (p *projection) placedHash(s *state.Snapshot, slot uint32) uint64 {
	for len(p.hashes) <= int(slot) {
		p.hashes = append(p.hashes, slotHash{})
	}
	h, generation := &p.hashes[slot], s.Pods.Generation(slot)
	if h.generation == generation {
		return h.hash
	}
	*h = slotHash{generation: generation}
	pod := s.Pods.Pod[slot]
	if p.namespaces != nil {
		if _, ok := slices.BinarySearch(p.namespaces, pod.Namespace); !ok {
			return 0
		}
	}
	b := p.scratch[:0]
	for i := range p.placed {
		b = appendPlaced(append(b, byte(p.placed[i].Column)), &p.placed[i], pod)
	}
	p.scratch = b
	h.hash = maphash.Bytes(p.seed, append(b, 0))
	return h.hash
}

// appendPlaced appends what a pod has in a column of the pods table.
func appendPlaced(b []byte, read *plugin.Read, pod *state.Pod) []byte {
	switch read.Column {
	case abi.PodNamespace:
		return appendText(b, pod.Namespace)
	case abi.PodPriority:
		return binary.AppendVarint(b, int64(pod.Priority))
	case abi.PodRequests:
		return appendRequests(b, &pod.Requests, read.Args)
	case abi.PodLabels, abi.PodLabel:
		return appendMap(b, pod.Object.Labels, read.Args)
	case abi.PodAnnotations:
		return appendMap(b, pod.Object.Annotations, read.Args)
	case abi.PodOwner:
		return appendOwner(b, pod.Object)
	case abi.PodFlags:
		if pod.Object.DeletionTimestamp != nil {
			return append(b, abi.PodTerminating)
		}
		return append(b, 0)
	case abi.PodUID:
		return appendText(b, string(pod.UID))
	case abi.PlacedPodName:
		return appendText(b, pod.Name)
	}
	panic(fmt.Sprintf("BUG: reuse: no hash of column %d", read.Column))
}

// ofPods reports whether a column of the nodes table depends on the node's pods.
func ofPods(c abi.ColumnID) bool {
	switch c {
	case abi.NodeRequested, abi.NodeNonZeroRequested, abi.NodePorts, abi.NodePods, abi.NodeGenerations:
		return true
	}
	return false
}

// ofObject reports whether a column of the nodes table depends on the node's object.
func ofObject(c abi.ColumnID) bool {
	return c < abi.PodNamespace && (!ofPods(c) || c == abi.NodeGenerations)
}

// ofPlaced reports whether a column is one of the pods table.
func ofPlaced(c abi.ColumnID) bool { return c >= abi.PodNamespace && c <= abi.PlacedPodName }

// columnsOf returns the columns of the nodes and the pods table among what is read.
func columnsOf(reads []plugin.Read) []plugin.Read {
	return slices.DeleteFunc(slices.Clone(reads), func(r plugin.Read) bool { return !ofPods(r.Column) && !ofObject(r.Column) && !ofPlaced(r.Column) })
}

// appendColumn appends what a row has in a column. Two rows, or a row at two times of an
// epoch, have the same if and only if the bytes are equal.
func appendColumn(b []byte, s *state.Snapshot, row uint32, read *plugin.Read) []byte {
	t := &s.Nodes
	node := t.Node[row].Object
	b = append(b, byte(read.Column))
	switch read.Column {
	case abi.NodeName:
		b = appendText(b, node.Name)
	case abi.NodeFlags:
		b = append(b, t.Flags[row])
	case abi.NodeAllocatable:
		b = appendResources(b, s, read.Args, func(c *state.ResourceColumns) int64 { return c.Allocatable[row] })
	case abi.NodeRequested:
		b = appendResources(b, s, read.Args, func(c *state.ResourceColumns) int64 { return c.Requested[row] })
	case abi.NodeNonZeroRequested:
		b = binary.AppendVarint(binary.AppendVarint(b, t.NonZeroCPU[row]), t.NonZeroMemory[row])
	case abi.NodeLabels, abi.NodeLabel:
		b = appendMap(b, node.Labels, read.Args)
	case abi.NodeZone:
		b = appendMap(b, node.Labels, []string{v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone})
	case abi.NodeAnnotations:
		b = appendMap(b, node.Annotations, read.Args)
	case abi.NodeTaints:
		b = binary.AppendUvarint(b, uint64(t.TaintSet[row]))
	case abi.NodeImages:
		for _, image := range t.Images.Row(row) {
			b = binary.AppendVarint(binary.AppendUvarint(b, uint64(image.Name)+1), image.Size)
		}
		b = append(b, 0)
	case abi.NodeDeclaredFeatures:
		b = appendText(b, t.Node[row].Declared.String())
	case abi.NodeConditions:
		b = appendConditions(b, node, read.Args)
	case abi.NodePorts:
		ports := t.Ports.Row(row)
		b = binary.AppendUvarint(b, uint64(len(ports)))
		for _, p := range ports {
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.IP)), uint64(p.Port)), byte(p.Protocol))
		}
	case abi.NodePods: // with all that the pods table has of them
		b = binary.AppendUvarint(b, t.PodsGeneration[row])
	default: // whatever it is, it changes with a generation
		b = binary.AppendUvarint(binary.AppendUvarint(b, t.ObjectGeneration[row]), t.PodsGeneration[row])
	}
	return b
}

// appendResources appends the amounts of the named resources, or of all that are not 0.
func appendResources(b []byte, s *state.Snapshot, names []string, amount func(*state.ResourceColumns) int64) []byte {
	if names == nil {
		for i := range s.Nodes.Resources {
			if n := amount(&s.Nodes.Resources[i]); n != 0 {
				b = binary.AppendVarint(binary.AppendUvarint(b, uint64(i)+1), n)
			}
		}
		return append(b, 0)
	}
	for _, name := range names {
		n := int64(0)
		if i := s.ResourceIndex(v1.ResourceName(name)); i >= 0 {
			n = amount(&s.Nodes.Resources[i])
		}
		b = binary.AppendVarint(b, n)
	}
	return b
}

func appendConditions(b []byte, node *v1.Node, types []string) []byte {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if types == nil || slices.Contains(types, string(c.Type)) {
			b = appendText(appendText(append(b, 1), string(c.Type)), string(c.Status))
		}
	}
	return append(b, 0)
}
