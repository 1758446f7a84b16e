package equivalence

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// projection follows a part of the nodes table: the columns that plugins declare. A
// row's stamp moves when one of its columns has changed, and not when only generations
// have. Columns are compared by their hashes, under a seed that nobody can know.
type projection struct {
	// sources are those from which columns of the nodes table come, with these columns.
	sources []source
	placed  []plugin.Read // columns of the pods table
	// namespaces are those of whose pods something is read; nil means all.
	namespaces []string
	users      int
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

// source is one of the objects behind a row, by its number among fields.NumRowSources, and what is read of it.
type source struct {
	number    int
	columns   []plugin.Read
	placed    bool // the pods table is read
	nominated bool // the pods that are nominated to the node are read
}

// seen is what a row was when it was looked at last, by source.
type seen struct{ generation, hash [fields.NumRowSources]uint64 }

// slotHash is the hash of what is read of a pod on a node.
type slotHash struct{ generation, hash uint64 }

func newProjection(columns []plugin.Read, namespaces []string, shared bool) *projection {
	p := &projection{namespaces: namespaces, seed: maphash.MakeSeed()}
	for _, c := range columns {
		if entry(c.Column).Table == abi.TablePods {
			p.placed = append(p.placed, c)
		}
	}
	for number := range fields.NumRowSources {
		from := source{number: number}
		for _, c := range columns {
			switch e := entry(c.Column); {
			case e.Table != abi.TableNodes || e.Source>>number&1 == 0:
			case c.Column == abi.NodePods && c.Args != nil:
				from.placed = true
			case c.Column == abi.NodeNominated && c.Args != nil:
				from.nominated = true
			default:
				from.columns = append(from.columns, c)
			}
		}
		if from.placed || from.nominated || from.columns != nil {
			p.sources = append(p.sources, from)
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
		panic("BUG: equivalence: more than four billion changes")
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
	was := &p.seen[row]
	moved := p.stamps[row] == 0
	for i := range p.sources {
		from := &p.sources[i]
		g := generation(s, row, from.number)
		if g == was.generation[from.number] {
			continue
		}
		was.generation[from.number] = g
		if h := p.hash(s, row, from); h != was.hash[from.number] || moved {
			was.hash[from.number], moved = h, true
		}
	}
	if !moved {
		return
	}
	p.next++
	p.stamps[row] = p.next
	if p.contents != nil {
		p.contents.set(row, maphash.Comparable(p.seed, was.hash), p.next)
	}
}

// generation returns the generation of a row's source.
func generation(s *state.Snapshot, row uint32, number int) uint64 {
	switch fields.Source(1 << number) {
	case fields.FromNode:
		return s.Nodes.ObjectGeneration[row]
	case fields.FromPods:
		return s.Nodes.PodsGeneration[row]
	case fields.FromFeeds:
		return s.Nodes.FeedsGeneration[row]
	}
	panic(fmt.Sprintf("BUG: equivalence: rows have no generation of source %d", number))
}

// hash returns the hash of what is read of a row's source.
func (p *projection) hash(s *state.Snapshot, row uint32, from *source) uint64 {
	b := p.scratch[:0]
	for i := range from.columns {
		b = appendColumn(b, s, row, from.number, &from.columns[i])
	}
	p.scratch = b
	h := maphash.Bytes(p.seed, b)
	if from.placed {
		for _, slot := range s.Nodes.Pods.Row(row) {
			h += p.placedHash(s, slot) // their order means nothing (ABI-4.7)
		}
	}
	if from.nominated {
		n := uint64(0)
		for _, slot := range s.Nodes.Nominated.Row(row) {
			n += p.placedHash(s, slot)
		}
		h += maphash.Comparable(p.seed, n)
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
		b = appendPlaced(appendID(b, p.placed[i].Column), &p.placed[i], pod)
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
	case abi.PlacedPodLimits:
		return appendLimits(b, pod, read.Args)
	case abi.PlacedPodQOS:
		return appendText(b, string(pod.QOS()))
	case abi.PlacedPodAssignedAt:
		return binary.AppendVarint(b, pod.AssignedAt)
	case abi.PlacedPodCreatedAt:
		return binary.AppendVarint(b, pod.CreatedAt())
	case abi.PlacedPodState:
		return append(b, pod.State())
	}
	panic(fmt.Sprintf("BUG: equivalence: no hash of column %d", read.Column))
}

// entry returns the entry of what is read.
func entry(id abi.ColumnID) *fields.Entry {
	e := fields.Of(id)
	if e == nil {
		panic(fmt.Sprintf("BUG: equivalence: package fields has no column %d", id))
	}
	return e
}

// split returns what is read of nodes and of pods on them, and what is read of the pod to be placed.
func split(reads []plugin.Read) (columns, pod []plugin.Read) {
	for _, r := range reads {
		switch entry(r.Column).Table {
		case abi.TableNodes, abi.TablePods:
			columns = append(columns, r)
		case fields.Record:
			pod = append(pod, r)
		default: // plugin.Info.Keyed
			panic(fmt.Sprintf("BUG: equivalence: answers that depend on column %d are kept", r.Column))
		}
	}
	return columns, pod
}

// appendColumn appends what a row has in a column from a source. Two rows, or a row at two times of an
// epoch, have the same if and only if the bytes are equal.
func appendColumn(b []byte, s *state.Snapshot, row uint32, source int, read *plugin.Read) []byte {
	t := &s.Nodes
	node := t.Node[row].Object
	b = appendID(b, read.Column)
	switch read.Column {
	case abi.NodeName:
		b = appendText(b, node.Name)
	case abi.NodeFlags:
		b = append(b, t.Flags[row])
	case abi.NodeAllocatable:
		b = appendResources(b, s, read.Args, func(c *state.ResourceColumns) int64 { return c.Allocatable[row] })
	case abi.NodeCapacity:
		capacity := state.NewResources(node.Status.Capacity)
		b = binary.AppendVarint(appendRequests(b, &capacity, read.Args), capacity.Pods)
	case abi.NodeCreatedAt:
		b = binary.AppendVarint(b, t.Node[row].CreatedAt())
	case abi.NodeFeed:
		for _, name := range read.Args {
			b = binary.AppendVarint(b, t.Cell(row, feed(s, name)).Value)
		}
	case abi.NodeFeedState:
		for _, name := range read.Args {
			b = append(b, t.Cell(row, feed(s, name)).State)
		}
	case abi.NodeObjectNumbers, abi.NodeObjectTexts:
		for _, view := range read.Args {
			b = appendObject(b, t.Cell(row, s.Feed(view)).Columns)
		}
	case abi.NodeRequestedSince:
		b = appendSince(b, s, row, read.Args)
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
	default: // whatever it is, as all pods with all that the pods table has of them, it changes with the generation
		b = binary.AppendUvarint(b, generation(s, row, source))
	}
	return b
}

// appendObject appends what a plugin reads of an object.
func appendObject(b []byte, c *state.Columns) []byte {
	if c == nil {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Numbers))+1)
	for _, numbers := range c.Numbers {
		b = binary.AppendUvarint(b, uint64(len(numbers)))
		for _, n := range numbers {
			b = binary.AppendVarint(b, n)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(c.Texts)))
	for _, texts := range c.Texts {
		b = binary.AppendUvarint(b, uint64(len(texts)))
		for _, text := range texts {
			if text == nil {
				b = append(b, 0)
			} else {
				b = appendText(append(b, 1), *text)
			}
		}
	}
	return b
}

// feed returns the number of a feed, which is named with its unit.
func feed(s *state.Snapshot, name string) int {
	name, _, _ = strings.Cut(name, ":")
	return s.Feed(name)
}

// appendSince appends what samples cannot contain: args are the resources and then, after an empty one, the feeds.
func appendSince(b []byte, s *state.Snapshot, row uint32, args []string) []byte {
	end := slices.Index(args, "")
	if end < 0 { // of all, whatever they are
		return binary.AppendUvarint(binary.AppendUvarint(b, s.Nodes.PodsGeneration[row]), s.Nodes.FeedsGeneration[row])
	}
	var feeds []int
	for _, name := range args[end+1:] {
		feeds = append(feeds, feed(s, name))
	}
	for _, resource := range args[:end] {
		b = binary.AppendVarint(b, s.RequestedSince(row, feeds, v1.ResourceName(resource)))
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
