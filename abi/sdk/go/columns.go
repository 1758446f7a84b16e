package berth

import "github.com/berth-scheduler/berth/abi"

// columns has the columns of a snapshot as slices. They cover the whole capacity, including
// overlay rows, so they change only with the layout.
type columns struct {
	core                 *core
	header               *header
	layout               uint32 // of the slices
	nodes, pods, strings *tableEntry
	namespaces           *tableEntry

	plainColumns
	// Columns by declared key.
	allocable, capacity, requested, podRequests, podLimits [][]int64
	nonZero                                                [2][]int64
	annotation, label                                      [][]ID
	condition                                              [][]Condition
	feed, requestedSince                                   [][]int64
	feedState                                              [][]FeedState
	podAnnotation, podLabel                                [][]ID
	namespaceLabel                                         [][]ID
}

// plainColumns has the columns without keys. Spans and their arena are adjacent.
type plainColumns struct {
	name         []span
	nameBytes    []byte
	flags        []uint8
	labels       []span
	labelPairs   []Pair
	taints       []span
	taintList    []Taint
	ports        []span
	portList     []Port
	images       []span
	imageList    []Image
	podsOn       []span
	slots        []uint32
	generation   []uint64
	zone         []ID
	createdAt    []int64
	podNamespace []ID
	podPriority  []int32
	podLabels    []span
	podPairs     []Pair
	podOwner     []ID
	podFlags     []uint8
	podUID       []span
	uidBytes     []byte
	podName      []span
	podNameBytes []byte
	podQOS       []ID
	podAssigned  []int64
	podCreated   []int64
	podState     []uint8

	namespaceName   []ID
	namespaceLabels []span
	namespacePairs  []Pair

	texts     []span
	textBytes []byte
}

// size makes room for the columns of declared keys.
func (c *columns) size(r *reads) {
	resources := len(r.lists[listResources])
	c.allocable, c.requested, c.podRequests = make([][]int64, resources), make([][]int64, resources), make([][]int64, resources)
	c.capacity, c.podLimits = make([][]int64, resources), make([][]int64, resources)
	c.annotation = make([][]ID, len(r.lists[listNodeAnnotations]))
	c.condition = make([][]Condition, len(r.lists[listNodeConditions]))
	c.requestedSince = make([][]int64, resources)
	c.feed = make([][]int64, len(r.lists[listFeeds]))
	c.feedState = make([][]FeedState, len(r.lists[listFeeds]))
	c.label = make([][]ID, len(r.lists[listNodeLabels]))
	c.podAnnotation = make([][]ID, len(r.lists[listPodAnnotations]))
	c.podLabel = make([][]ID, len(r.lists[listPodLabels]))
	c.namespaceLabel = make([][]ID, len(r.lists[listNamespaceLabels]))
}

// refresh remakes the slices if the layout has changed.
func (c *columns) refresh(address uint32) {
	m := &c.core.mem
	h := at[header](m, address)
	if c.header == h && c.layout == h.layout {
		return
	}
	if h.magic != abi.Magic || h.major != abi.Major {
		panic("berth: the host's snapshot is of another ABI")
	}
	c.header, c.layout = h, h.layout
	c.forget()
	tables := view[tableEntry](m, h.tables, h.nTables)
	for i := range tables {
		t := &tables[i]
		switch t.id {
		case abi.TableNodes:
			c.nodes = t
		case abi.TablePods:
			c.pods = t
		case abi.TableStrings:
			c.strings = t
		case abi.TableNamespaces:
			c.namespaces = t
		default:
			continue
		}
		for _, e := range view[columnEntry](m, t.columns, t.nColumns) {
			c.set(m, &e)
		}
	}
}

// forget drops all slices.
func (c *columns) forget() {
	c.nodes, c.pods, c.strings, c.namespaces = nil, nil, nil, nil
	c.plainColumns = plainColumns{}
	clear(c.allocable)
	clear(c.capacity)
	clear(c.requested)
	clear(c.podRequests)
	clear(c.podLimits)
	clear(c.nonZero[:])
	clear(c.annotation)
	clear(c.label)
	clear(c.condition)
	clear(c.feed)
	clear(c.feedState)
	clear(c.requestedSince)
	clear(c.podAnnotation)
	clear(c.podLabel)
	clear(c.namespaceLabel)
}

// set makes the slice of one column. It skips unknown columns and types.
func (c *columns) set(m *memory, e *columnEntry) {
	switch e.id {
	case abi.NodeName:
		column(m, e, abi.TypeSpan, &c.name)
	case abi.NodeName + abi.ArenaOf:
		column(m, e, abi.TypeBytes, &c.nameBytes)
	case abi.NodeFlags:
		column(m, e, abi.TypeU8, &c.flags)
	case abi.NodeAllocatable:
		keyed(m, e, abi.TypeI64, c.allocable)
	case abi.NodeRequested:
		keyed(m, e, abi.TypeI64, c.requested)
	case abi.NodeNonZeroRequested:
		keyed(m, e, abi.TypeI64, c.nonZero[:])
	case abi.NodeLabels:
		column(m, e, abi.TypeSpan, &c.labels)
	case abi.NodeLabels + abi.ArenaOf:
		column(m, e, abi.TypePair, &c.labelPairs)
	case abi.NodeAnnotations:
		keyed(m, e, abi.TypeU32, c.annotation)
	case abi.NodeTaints:
		column(m, e, abi.TypeSpan, &c.taints)
	case abi.NodeTaints + abi.ArenaOf:
		column(m, e, abi.TypeTaint, &c.taintList)
	case abi.NodePorts:
		column(m, e, abi.TypeSpan, &c.ports)
	case abi.NodePorts + abi.ArenaOf:
		column(m, e, abi.TypePort, &c.portList)
	case abi.NodeImages:
		column(m, e, abi.TypeSpan, &c.images)
	case abi.NodeImages + abi.ArenaOf:
		column(m, e, abi.TypeImage, &c.imageList)
	case abi.NodeConditions:
		keyed(m, e, abi.TypeU8, c.condition)
	case abi.NodePods:
		column(m, e, abi.TypeSpan, &c.podsOn)
	case abi.NodePods + abi.ArenaOf:
		column(m, e, abi.TypeU32, &c.slots)
	case abi.NodeGenerations:
		column(m, e, abi.TypeU64, &c.generation)
	case abi.NodeLabel:
		keyed(m, e, abi.TypeU32, c.label)
	case abi.NodeZone:
		column(m, e, abi.TypeU32, &c.zone)
	case abi.NodeCapacity:
		keyed(m, e, abi.TypeI64, c.capacity)
	case abi.NodeCreatedAt:
		column(m, e, abi.TypeI64, &c.createdAt)
	case abi.NodeFeed:
		keyed(m, e, abi.TypeI64, c.feed)
	case abi.NodeFeedState:
		keyed(m, e, abi.TypeU8, c.feedState)
	case abi.NodeRequestedSince:
		keyed(m, e, abi.TypeI64, c.requestedSince)
	default:
		c.setPods(m, e)
	}
}

// setPods makes the slice of one column in tables other than nodes.
func (c *columns) setPods(m *memory, e *columnEntry) {
	switch e.id {
	case abi.PodNamespace:
		column(m, e, abi.TypeU32, &c.podNamespace)
	case abi.PodPriority:
		column(m, e, abi.TypeI32, &c.podPriority)
	case abi.PodRequests:
		keyed(m, e, abi.TypeI64, c.podRequests)
	case abi.PodLabels:
		column(m, e, abi.TypeSpan, &c.podLabels)
	case abi.PodLabels + abi.ArenaOf:
		column(m, e, abi.TypePair, &c.podPairs)
	case abi.PodAnnotations:
		keyed(m, e, abi.TypeU32, c.podAnnotation)
	case abi.PodOwner:
		column(m, e, abi.TypeU32, &c.podOwner)
	case abi.PodLabel:
		keyed(m, e, abi.TypeU32, c.podLabel)
	case abi.PodFlags:
		column(m, e, abi.TypeU8, &c.podFlags)
	case abi.PodUID:
		column(m, e, abi.TypeSpan, &c.podUID)
	case abi.PodUID + abi.ArenaOf:
		column(m, e, abi.TypeBytes, &c.uidBytes)
	case abi.PlacedPodName:
		column(m, e, abi.TypeSpan, &c.podName)
	case abi.PlacedPodName + abi.ArenaOf:
		column(m, e, abi.TypeBytes, &c.podNameBytes)
	case abi.PlacedPodLimits:
		keyed(m, e, abi.TypeI64, c.podLimits)
	case abi.PlacedPodQOS:
		column(m, e, abi.TypeU32, &c.podQOS)
	case abi.PlacedPodAssignedAt:
		column(m, e, abi.TypeI64, &c.podAssigned)
	case abi.PlacedPodCreatedAt:
		column(m, e, abi.TypeI64, &c.podCreated)
	case abi.PlacedPodState:
		column(m, e, abi.TypeU8, &c.podState)
	case abi.NamespaceName:
		column(m, e, abi.TypeU32, &c.namespaceName)
	case abi.NamespaceLabels:
		column(m, e, abi.TypeSpan, &c.namespaceLabels)
	case abi.NamespaceLabels + abi.ArenaOf:
		column(m, e, abi.TypePair, &c.namespacePairs)
	case abi.NamespaceLabel:
		keyed(m, e, abi.TypeU32, c.namespaceLabel)
	case abi.StringBytes:
		column(m, e, abi.TypeSpan, &c.texts)
	case abi.StringBytes + abi.ArenaOf:
		column(m, e, abi.TypeBytes, &c.textBytes)
	}
}

func column[T any](m *memory, e *columnEntry, typ abi.Type, to *[]T) {
	if e.typ == typ {
		*to = view[T](m, e.address, e.capacity)
	}
}

func keyed[T any](m *memory, e *columnEntry, typ abi.Type, to [][]T) {
	if e.typ == typ && uint64(e.arg) < uint64(len(to)) {
		to[e.arg] = view[T](m, e.address, e.capacity)
	}
}

// text returns the string of an id.
func (c *columns) text(id ID) string {
	if id == Absent {
		return ""
	}
	return str(of(c.texts, c.textBytes, uint32(id)))
}
