package state

import (
	"encoding/binary"
	"unsafe"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// The first resources of every snapshot, in this order. Extended resources follow in the order
// in which they were first seen.
const (
	CPU = iota // milli-CPU
	Memory
	EphemeralStorage
	PodCount

	numFixedResources
)

// ResourceColumns has the allocatable and the requested amounts of one resource, in its unit:
// milli-CPU, bytes, or a count.
type ResourceColumns struct {
	Name                   v1.ResourceName
	Allocatable, Requested []int64
}

// NodeTable has the columns of the nodes table. Every column has an element for each row and
// each overlay row.
type NodeTable struct {
	// Node is the decoded object.
	Node []*Node
	// Rank orders rows for a tie-break by first node: the smallest rank wins.
	Rank []uint64
	// Flags has the abi.NodeUnschedulable bit.
	Flags []uint8
	// Resources is indexed by CPU, Memory … and Snapshot.ResourceIndex.
	Resources []ResourceColumns
	// NonZeroCPU (milli-CPU) and NonZeroMemory (bytes) are requests, with defaults for
	// containers without requests.
	NonZeroCPU, NonZeroMemory []int64
	// Labels is metadata.labels.
	Labels LabelColumns
	// TaintSet is an index into TaintSets: nodes with equal taints in equal order share a set.
	// Set 0 has no taints.
	TaintSet  []uint32
	TaintSets [][]wire.Taint
	// Ports are the host ports in use.
	Ports wire.Ragged[wire.Port]
	// Images is sorted by name id.
	Images wire.Ragged[wire.Image]
	// ImageNodes is the number of nodes that have an image, by name id; ids beyond its end have
	// none.
	ImageNodes []int32
	// Pods are the slots of the row's pods in the pods table.
	Pods wire.Ragged[uint32]
	// Nominated are the slots of the pods that are nominated to the row's node, if a plugin reads them.
	Nominated wire.Ragged[uint32]
	// ObjectGeneration and PodsGeneration change with the node and its pods. 0 means that the
	// row is empty, or an overlay whose pods differ from every node's.
	ObjectGeneration, PodsGeneration []uint64
	// Cells are what feeds say, by row and by the number of the feed in Snapshot.Feeds; FeedsGeneration changes with them. Those of a
	// row are never written to.
	Cells           [][]Cell
	FeedsGeneration []uint64

	shown         []*NodeInfo // whose pods a row shows; nil if unknown, as for overlays
	n, capacity   int
	overlays      int    // allocated overlay rows
	used          []bool // one per overlay row in use; true if it was released before a later one
	resourceIndex map[v1.ResourceName]int
	taintIndex    map[string]uint32
	strings       *wire.Dict
	scratch       scratch
}

type scratch struct {
	key    []byte
	taints []wire.Taint
	images []wire.Image
	ports  []wire.Port
	slots  []uint32
}

func newNodeTable(strings *wire.Dict) NodeTable {
	t := NodeTable{
		strings:       strings,
		TaintSets:     [][]wire.Taint{nil},
		taintIndex:    map[string]uint32{"": 0},
		resourceIndex: make(map[v1.ResourceName]int),
		Labels:        newLabelColumns(),
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods} {
		t.resource(name)
	}
	return t
}

// resource returns the index of a resource's columns; it adds them if needed.
func (t *NodeTable) resource(name v1.ResourceName) int {
	i, ok := t.resourceIndex[name]
	if !ok {
		i = len(t.Resources)
		t.resourceIndex[name] = i
		t.Resources = append(t.Resources, ResourceColumns{
			Name: name, Allocatable: make([]int64, t.rows()), Requested: make([]int64, t.rows()),
		})
	}
	return i
}

// rows returns the number of elements of each column.
func (t *NodeTable) rows() int { return t.capacity + t.overlays }

// resize sets the number of rows; columns grow by half, ahead of need.
func (t *NodeTable) resize(n int) {
	if n > t.capacity {
		t.grow(max(n, t.capacity+t.capacity/2, 16), t.overlays)
	}
	t.n = n
}

// grow sets the capacities of all columns. When the capacity of rows changes, there must be no
// overlays, because their indices change.
func (t *NodeTable) grow(capacity, overlays int) {
	t.capacity, t.overlays = capacity, overlays
	rows := t.rows()
	t.Node = resized(t.Node, rows)
	t.Rank = resized(t.Rank, rows)
	t.Flags = resized(t.Flags, rows)
	for i := range t.Resources {
		r := &t.Resources[i]
		r.Allocatable, r.Requested = resized(r.Allocatable, rows), resized(r.Requested, rows)
	}
	t.NonZeroCPU, t.NonZeroMemory = resized(t.NonZeroCPU, rows), resized(t.NonZeroMemory, rows)
	t.TaintSet = resized(t.TaintSet, rows)
	t.ObjectGeneration = resized(t.ObjectGeneration, rows)
	t.PodsGeneration = resized(t.PodsGeneration, rows)
	t.Cells, t.FeedsGeneration = resized(t.Cells, rows), resized(t.FeedsGeneration, rows)
	t.shown = resized(t.shown, rows)
	t.Labels.resize(rows)
	t.Ports.Resize(rows)
	t.Images.Resize(rows)
	t.Pods.Resize(rows)
	t.Nominated.Resize(rows)
}

func resized[T any](s []T, n int) []T {
	out := make([]T, n)
	copy(out, s)
	return out
}

// clear empties an unused row.
func (t *NodeTable) clear(row uint32) {
	t.Labels.set(row, nil)
	t.setImages(row, nil)
	t.clearRest(row)
}

// clearOverlay empties an overlay row completely, because it becomes a node's row when columns
// grow. Overlays do not count in sums over rows.
func (t *NodeTable) clearOverlay(row uint32) {
	t.Labels.dropRow(row)
	t.Images.Set(row, nil)
	t.clearRest(row)
}

func (t *NodeTable) clearRest(row uint32) {
	t.Node[row], t.Rank[row], t.Flags[row], t.TaintSet[row] = nil, 0, 0, 0
	t.ObjectGeneration[row], t.PodsGeneration[row], t.shown[row] = 0, 0, nil
	t.Cells[row], t.FeedsGeneration[row] = nil, 0
	for i := range t.Resources {
		t.Resources[i].Allocatable[row], t.Resources[i].Requested[row] = 0, 0
	}
	t.NonZeroCPU[row], t.NonZeroMemory[row] = 0, 0
	t.Ports.Set(row, nil)
	t.Pods.Set(row, nil)
	t.Nominated.Set(row, nil)
}

// writeObject writes the columns from the node object and returns the number of bytes written.
func (t *NodeTable) writeObject(row uint32, info *NodeInfo) (bytes int) {
	node := info.Node
	t.Node[row], t.Rank[row], t.ObjectGeneration[row] = node, info.Rank, info.ObjectGeneration
	t.Flags[row] = 0
	if node.Object.Spec.Unschedulable {
		t.Flags[row] |= abi.NodeUnschedulable
	}
	a := &node.Allocatable
	for _, s := range a.Scalars {
		t.resource(s.Name)
	}
	t.Resources[CPU].Allocatable[row] = a.MilliCPU
	t.Resources[Memory].Allocatable[row] = a.Memory
	t.Resources[EphemeralStorage].Allocatable[row] = a.EphemeralStorage
	t.Resources[PodCount].Allocatable[row] = a.Pods
	setScalars(t, row, a.Scalars, func(c *ResourceColumns) []int64 { return c.Allocatable })
	t.TaintSet[row] = t.internTaints(node.Object.Spec.Taints)

	bytes = 8 + 8 + 1 + 8*len(t.Resources) + 4
	bytes += t.Labels.write(row, node.Object.Labels, t.strings)
	images := t.scratch.images[:0]
	for _, image := range node.Images {
		images = append(images, wire.Image{Name: t.strings.Intern(image.Name), Size: image.Size})
	}
	t.scratch.images = images
	bytes += t.setImages(row, images)
	return bytes
}

// unchanged returns how many of a node's first pods a row shows already.
func (t *NodeTable) unchanged(row uint32, info *NodeInfo) int {
	if t.shown[row] == info && t.PodsGeneration[row] == info.since {
		return info.same
	}
	return 0
}

// writePods writes the columns from the row's pods, of which the first from are unchanged, and returns the number
// of bytes written.
func (t *NodeTable) writePods(row uint32, info *NodeInfo, from int) (bytes int) {
	t.PodsGeneration[row], t.shown[row] = info.PodsGeneration, info
	r := &info.Requested
	for _, s := range r.Scalars {
		t.resource(s.Name)
	}
	t.Resources[CPU].Requested[row] = r.MilliCPU
	t.Resources[Memory].Requested[row] = r.Memory
	t.Resources[EphemeralStorage].Requested[row] = r.EphemeralStorage
	t.Resources[PodCount].Requested[row] = r.Pods
	setScalars(t, row, r.Scalars, func(c *ResourceColumns) []int64 { return c.Requested })
	t.NonZeroCPU[row], t.NonZeroMemory[row] = info.NonZeroCPU, info.NonZeroMemory

	slots, ports := t.scratch.slots[:0], t.scratch.ports[:0]
	for i := range info.Pods[from:] {
		slots = append(slots, info.Pods[from+i].Slot)
	}
	if info.withPorts > 0 {
		for i := range info.Pods {
			ports = t.appendPorts(ports, info.Pods[i].Pod)
		}
	}
	t.scratch.slots, t.scratch.ports = slots, ports
	bytes = 8 + 8*len(t.Resources) + 16
	bytes += 4 * t.Pods.SetTail(row, from, slots)
	if len(info.Nominated)+len(t.Nominated.Row(row)) > 0 {
		slots = slots[:0]
		for i := range info.Nominated {
			slots = append(slots, info.Nominated[i].Slot)
		}
		bytes += 4 * t.Nominated.Set(row, slots)
	}
	bytes += int(unsafe.Sizeof(wire.Port{})) * t.Ports.Set(row, ports)
	return bytes
}

func (t *NodeTable) appendPorts(ports []wire.Port, pod *Pod) []wire.Port {
	for _, p := range pod.HostPorts {
		ports = append(ports, wire.Port{IP: t.strings.Intern(p.IP), Port: p.Port, Protocol: p.Protocol})
	}
	return ports
}

func setScalars(t *NodeTable, row uint32, scalars []Scalar, column func(*ResourceColumns) []int64) {
	for i := numFixedResources; i < len(t.Resources); i++ {
		column(&t.Resources[i])[row] = 0
	}
	for _, s := range scalars {
		column(&t.Resources[t.resourceIndex[s.Name]])[row] = s.Value
	}
}

// internTaints returns the set for a list of taints. The nodes of a cluster have few distinct
// lists, so filters judge each list once, not each node.
func (t *NodeTable) internTaints(taints []v1.Taint) uint32 {
	if len(taints) == 0 {
		return 0
	}
	set, key := t.scratch.taints[:0], t.scratch.key[:0]
	for i := range taints {
		w := wire.Taint{
			Key:    t.strings.Intern(taints[i].Key),
			Value:  t.strings.Intern(taints[i].Value),
			Effect: TaintEffect(taints[i].Effect),
		}
		set = append(set, w)
		key = binary.LittleEndian.AppendUint32(key, w.Key)
		key = binary.LittleEndian.AppendUint32(key, w.Value)
		key = append(key, byte(w.Effect))
	}
	t.scratch.taints, t.scratch.key = set, key
	id, ok := t.taintIndex[string(key)]
	if !ok {
		id = uint32(len(t.TaintSets))
		t.taintIndex[string(key)] = id
		t.TaintSets = append(t.TaintSets, append([]wire.Taint(nil), set...))
	}
	return id
}

// setImages replaces a row's images and updates the number of nodes per image.
func (t *NodeTable) setImages(row uint32, images []wire.Image) (bytes int) {
	for _, old := range t.Images.Row(row) {
		t.ImageNodes[old.Name]--
	}
	sortImages(images)
	for _, image := range images {
		if int(image.Name) >= len(t.ImageNodes) {
			t.ImageNodes = append(t.ImageNodes, make([]int32, t.strings.Len()-len(t.ImageNodes))...)
		}
		t.ImageNodes[image.Name]++
	}
	return int(unsafe.Sizeof(wire.Image{})) * t.Images.Set(row, images)
}
