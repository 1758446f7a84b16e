package berth

import "github.com/berth-scheduler/berth/abi"

// Generated from abi/fields.

// columnsByRow has the columns without keys. Spans and their arena are adjacent.
type columnsByRow struct {
	nodeName             []span
	nodeNameArena        []byte
	nodeFlags            []uint8
	nodeNonZeroRequested [2][]int64
	nodeLabels           []span
	nodeLabelsArena      []Pair
	nodeTaints           []span
	nodeTaintsArena      []Taint
	nodePorts            []span
	nodePortsArena       []Port
	nodeImages           []span
	nodeImagesArena      []Image
	nodePods             []span
	nodePodsArena        []uint32
	nodeGeneration       []uint64
	nodeZone             []ID
	nodeCreatedAt        []int64
	nodeNominated        []span
	nodeNominatedArena   []uint32
	placedNamespace      []ID
	placedPriority       []int32
	placedLabels         []span
	placedLabelsArena    []Pair
	placedOwner          []ID
	placedFlags          []uint8
	placedUID            []span
	placedUIDArena       []byte
	placedName           []span
	placedNameArena      []byte
	placedQOS            []ID
	placedAssignedAt     []int64
	placedCreatedAt      []int64
	placedState          []uint8
	namespaceName        []ID
	namespaceLabels      []span
	namespaceLabelsArena []Pair
}

// columnsByKey has the columns of declared keys.
type columnsByKey struct {
	nodeAllocatable             [][]int64
	nodeRequested               [][]int64
	nodeAnnotation              [][]ID
	nodeCondition               [][]Condition
	nodeLabel                   [][]ID
	nodeCapacity                [][]int64
	nodeFeed                    [][]int64
	nodeFeedState               [][]FeedState
	nodeRequestedSince          [][]int64
	nodeObjectNumbers           [][]span
	nodeObjectNumbersArena      [][]int64
	nodeObjectTexts             [][]span
	nodeObjectTextsArena        [][]ID
	placedRequests              [][]int64
	placedAnnotation            [][]ID
	placedLabel                 [][]ID
	placedLimits                [][]int64
	namespaceLabel              [][]ID
	namespaceRequested          [][]int64
	namespaceObjectNumbers      [][]span
	namespaceObjectNumbersArena [][]int64
	namespaceObjectTexts        [][]span
	namespaceObjectTextsArena   [][]ID
}

// size makes room for the columns.
func (c *columnsByKey) size(r *reads) {
	c.nodeAllocatable = make([][]int64, len(r.lists[listResources]))
	c.nodeRequested = make([][]int64, len(r.lists[listResources]))
	c.nodeAnnotation = make([][]ID, len(r.lists[listNodeAnnotations]))
	c.nodeCondition = make([][]Condition, len(r.lists[listNodeConditions]))
	c.nodeLabel = make([][]ID, len(r.lists[listNodeLabels]))
	c.nodeCapacity = make([][]int64, len(r.lists[listResources]))
	c.nodeFeed = make([][]int64, len(r.lists[listFeeds]))
	c.nodeFeedState = make([][]FeedState, len(r.lists[listFeeds]))
	c.nodeRequestedSince = make([][]int64, len(r.lists[listResources]))
	c.nodeObjectNumbers = make([][]span, len(r.lists[listObjectColumns]))
	c.nodeObjectNumbersArena = make([][]int64, len(r.lists[listObjectColumns]))
	c.nodeObjectTexts = make([][]span, len(r.lists[listObjectColumns]))
	c.nodeObjectTextsArena = make([][]ID, len(r.lists[listObjectColumns]))
	c.placedRequests = make([][]int64, len(r.lists[listResources]))
	c.placedAnnotation = make([][]ID, len(r.lists[listPodAnnotations]))
	c.placedLabel = make([][]ID, len(r.lists[listPodLabels]))
	c.placedLimits = make([][]int64, len(r.lists[listResources]))
	c.namespaceLabel = make([][]ID, len(r.lists[listNamespaceLabels]))
	c.namespaceRequested = make([][]int64, len(r.lists[listResources]))
	c.namespaceObjectNumbers = make([][]span, len(r.lists[listObjectColumns]))
	c.namespaceObjectNumbersArena = make([][]int64, len(r.lists[listObjectColumns]))
	c.namespaceObjectTexts = make([][]span, len(r.lists[listObjectColumns]))
	c.namespaceObjectTextsArena = make([][]ID, len(r.lists[listObjectColumns]))
}

// forget drops all slices.
func (c *columnsByKey) forget() {
	clear(c.nodeAllocatable)
	clear(c.nodeRequested)
	clear(c.nodeAnnotation)
	clear(c.nodeCondition)
	clear(c.nodeLabel)
	clear(c.nodeCapacity)
	clear(c.nodeFeed)
	clear(c.nodeFeedState)
	clear(c.nodeRequestedSince)
	clear(c.nodeObjectNumbers)
	clear(c.nodeObjectNumbersArena)
	clear(c.nodeObjectTexts)
	clear(c.nodeObjectTextsArena)
	clear(c.placedRequests)
	clear(c.placedAnnotation)
	clear(c.placedLabel)
	clear(c.placedLimits)
	clear(c.namespaceLabel)
	clear(c.namespaceRequested)
	clear(c.namespaceObjectNumbers)
	clear(c.namespaceObjectNumbersArena)
	clear(c.namespaceObjectTexts)
	clear(c.namespaceObjectTextsArena)
}

// undeclared says what of the manifest a reader of a column needs and the host did not get; empty for nothing.
func (c *columns) undeclared(reader string) string {
	switch {
	case reader == "Node.Name" && c.nodeName == nil:
		return "node does not list name"
	case reader == "Node.Unschedulable" && c.nodeFlags == nil:
		return "node does not list flags"
	case reader == "Node.Allocatable" && !all(c.nodeAllocatable):
		return "node does not list allocatable, or resources the resource"
	case reader == "Node.Requested" && !all(c.nodeRequested):
		return "node does not list requested, or resources the resource"
	case reader == "Node.NonZeroRequested" && !all(c.nodeNonZeroRequested[:]):
		return "node does not list nonZeroRequested"
	case (reader == "Node.Labels" || reader == "Node.LabelByKey") && c.nodeLabels == nil:
		return "node does not list labels"
	case reader == "Node.Annotation" && !all(c.nodeAnnotation):
		return "nodeAnnotations does not list the key"
	case reader == "Node.Taints" && c.nodeTaints == nil:
		return "node does not list taints"
	case reader == "Node.Ports" && c.nodePorts == nil:
		return "node does not list ports"
	case reader == "Node.Images" && c.nodeImages == nil:
		return "node does not list images"
	case reader == "Node.Condition" && !all(c.nodeCondition):
		return "nodeConditions does not list the type"
	case reader == "Node.Pods" && c.nodePods == nil:
		return "node does not list pods"
	case reader == "Node.Generation" && c.nodeGeneration == nil:
		return "node does not list generation"
	case reader == "Node.Label" && !all(c.nodeLabel):
		return "nodeLabels does not list the key"
	case reader == "Node.Zone" && c.nodeZone == nil:
		return "node does not list zone"
	case reader == "Node.Capacity" && !all(c.nodeCapacity):
		return "node does not list capacity, or resources the resource"
	case reader == "Node.CreatedAt" && c.nodeCreatedAt == nil:
		return "node does not list createdAt"
	case reader == "Node.Nominated" && c.nodeNominated == nil:
		return "node does not list nominated"
	case reader == "Node.Feed" && !all(c.nodeFeed):
		return "feeds does not list the feed"
	case reader == "Node.FeedState" && !all(c.nodeFeedState):
		return "feeds does not list the feed"
	case reader == "Node.RequestedSince" && !all(c.nodeRequestedSince):
		return "node does not list requestedSince, or resources the resource"
	case reader == "Node.ObjectNumbers" && !all(c.nodeObjectNumbers):
		return "objectColumns does not list the column, or with another type or join"
	case reader == "Node.ObjectTexts" && !all(c.nodeObjectTexts):
		return "objectColumns does not list the column, or with another type or join"
	case reader == "PlacedPod.Namespace" && c.placedNamespace == nil:
		return "pods does not list namespace"
	case reader == "PlacedPod.Priority" && c.placedPriority == nil:
		return "pods does not list priority"
	case reader == "PlacedPod.Request" && !all(c.placedRequests):
		return "pods does not list requests, or resources the resource"
	case (reader == "PlacedPod.Labels" || reader == "PlacedPod.LabelByKey") && c.placedLabels == nil:
		return "pods does not list labels"
	case reader == "PlacedPod.Annotation" && !all(c.placedAnnotation):
		return "podAnnotations does not list the key"
	case reader == "PlacedPod.Owner" && c.placedOwner == nil:
		return "pods does not list owner"
	case reader == "PlacedPod.Label" && !all(c.placedLabel):
		return "podLabels does not list the key"
	case reader == "PlacedPod.Terminating" && c.placedFlags == nil:
		return "pods does not list flags"
	case reader == "PlacedPod.UID" && c.placedUID == nil:
		return "pods does not list uid"
	case reader == "PlacedPod.Name" && c.placedName == nil:
		return "pods does not list name"
	case reader == "PlacedPod.Limit" && !all(c.placedLimits):
		return "pods does not list limits, or resources the resource"
	case reader == "PlacedPod.QOS" && c.placedQOS == nil:
		return "pods does not list qos"
	case reader == "PlacedPod.AssignedAt" && c.placedAssignedAt == nil:
		return "pods does not list assignedAt"
	case reader == "PlacedPod.CreatedAt" && c.placedCreatedAt == nil:
		return "pods does not list createdAt"
	case (reader == "PlacedPod.Running" || reader == "PlacedPod.Ready") && c.placedState == nil:
		return "pods does not list state"
	case reader == "Namespace.Name" && c.namespaceName == nil:
		return "namespaces does not list name"
	case (reader == "Namespace.Labels" || reader == "Namespace.LabelByKey") && c.namespaceLabels == nil:
		return "namespaces does not list labels"
	case reader == "Namespace.Label" && !all(c.namespaceLabel):
		return "namespaceLabels does not list the key"
	case reader == "Namespace.Requested" && !all(c.namespaceRequested):
		return "namespaces does not list requested, or resources the resource"
	case reader == "Namespace.ObjectNumbers" && !all(c.namespaceObjectNumbers):
		return "objectColumns does not list the column, or with another type or join"
	case reader == "Namespace.ObjectTexts" && !all(c.namespaceObjectTexts):
		return "objectColumns does not list the column, or with another type or join"
	}
	return ""
}

// setNode makes the slice of one column. It skips unknown columns and types.
func (c *columns) setNode(m *memory, e *columnEntry) {
	switch e.id {
	case abi.NodeName:
		column(m, e, abi.TypeSpan, &c.nodeName)
	case abi.NodeName + abi.ArenaOf:
		column(m, e, abi.TypeBytes, &c.nodeNameArena)
	case abi.NodeFlags:
		column(m, e, abi.TypeU8, &c.nodeFlags)
	case abi.NodeAllocatable:
		keyed(m, e, abi.TypeI64, c.nodeAllocatable)
	case abi.NodeRequested:
		keyed(m, e, abi.TypeI64, c.nodeRequested)
	case abi.NodeNonZeroRequested:
		keyed(m, e, abi.TypeI64, c.nodeNonZeroRequested[:])
	case abi.NodeLabels:
		column(m, e, abi.TypeSpan, &c.nodeLabels)
	case abi.NodeLabels + abi.ArenaOf:
		column(m, e, abi.TypePair, &c.nodeLabelsArena)
	case abi.NodeAnnotations:
		keyed(m, e, abi.TypeU32, c.nodeAnnotation)
	case abi.NodeTaints:
		column(m, e, abi.TypeSpan, &c.nodeTaints)
	case abi.NodeTaints + abi.ArenaOf:
		column(m, e, abi.TypeTaint, &c.nodeTaintsArena)
	case abi.NodePorts:
		column(m, e, abi.TypeSpan, &c.nodePorts)
	case abi.NodePorts + abi.ArenaOf:
		column(m, e, abi.TypePort, &c.nodePortsArena)
	case abi.NodeImages:
		column(m, e, abi.TypeSpan, &c.nodeImages)
	case abi.NodeImages + abi.ArenaOf:
		column(m, e, abi.TypeImage, &c.nodeImagesArena)
	case abi.NodeConditions:
		keyed(m, e, abi.TypeU8, c.nodeCondition)
	case abi.NodePods:
		column(m, e, abi.TypeSpan, &c.nodePods)
	case abi.NodePods + abi.ArenaOf:
		column(m, e, abi.TypeU32, &c.nodePodsArena)
	case abi.NodeGenerations:
		column(m, e, abi.TypeU64, &c.nodeGeneration)
	case abi.NodeLabel:
		keyed(m, e, abi.TypeU32, c.nodeLabel)
	case abi.NodeZone:
		column(m, e, abi.TypeU32, &c.nodeZone)
	case abi.NodeCapacity:
		keyed(m, e, abi.TypeI64, c.nodeCapacity)
	case abi.NodeCreatedAt:
		column(m, e, abi.TypeI64, &c.nodeCreatedAt)
	case abi.NodeNominated:
		column(m, e, abi.TypeSpan, &c.nodeNominated)
	case abi.NodeNominated + abi.ArenaOf:
		column(m, e, abi.TypeU32, &c.nodeNominatedArena)
	case abi.NodeFeed:
		keyed(m, e, abi.TypeI64, c.nodeFeed)
	case abi.NodeFeedState:
		keyed(m, e, abi.TypeU8, c.nodeFeedState)
	case abi.NodeRequestedSince:
		keyed(m, e, abi.TypeI64, c.nodeRequestedSince)
	case abi.NodeObjectNumbers:
		keyed(m, e, abi.TypeSpan, c.nodeObjectNumbers)
	case abi.NodeObjectNumbers + abi.ArenaOf:
		keyed(m, e, abi.TypeI64, c.nodeObjectNumbersArena)
	case abi.NodeObjectTexts:
		keyed(m, e, abi.TypeSpan, c.nodeObjectTexts)
	case abi.NodeObjectTexts + abi.ArenaOf:
		keyed(m, e, abi.TypeU32, c.nodeObjectTextsArena)
	default:
		c.setPlacedPod(m, e)
	}
}

// setPlacedPod makes the slice of one column. It skips unknown columns and types.
func (c *columns) setPlacedPod(m *memory, e *columnEntry) {
	switch e.id {
	case abi.PodNamespace:
		column(m, e, abi.TypeU32, &c.placedNamespace)
	case abi.PodPriority:
		column(m, e, abi.TypeI32, &c.placedPriority)
	case abi.PodRequests:
		keyed(m, e, abi.TypeI64, c.placedRequests)
	case abi.PodLabels:
		column(m, e, abi.TypeSpan, &c.placedLabels)
	case abi.PodLabels + abi.ArenaOf:
		column(m, e, abi.TypePair, &c.placedLabelsArena)
	case abi.PodAnnotations:
		keyed(m, e, abi.TypeU32, c.placedAnnotation)
	case abi.PodOwner:
		column(m, e, abi.TypeU32, &c.placedOwner)
	case abi.PodLabel:
		keyed(m, e, abi.TypeU32, c.placedLabel)
	case abi.PodFlags:
		column(m, e, abi.TypeU8, &c.placedFlags)
	case abi.PodUID:
		column(m, e, abi.TypeSpan, &c.placedUID)
	case abi.PodUID + abi.ArenaOf:
		column(m, e, abi.TypeBytes, &c.placedUIDArena)
	case abi.PlacedPodName:
		column(m, e, abi.TypeSpan, &c.placedName)
	case abi.PlacedPodName + abi.ArenaOf:
		column(m, e, abi.TypeBytes, &c.placedNameArena)
	case abi.PlacedPodLimits:
		keyed(m, e, abi.TypeI64, c.placedLimits)
	case abi.PlacedPodQOS:
		column(m, e, abi.TypeU32, &c.placedQOS)
	case abi.PlacedPodAssignedAt:
		column(m, e, abi.TypeI64, &c.placedAssignedAt)
	case abi.PlacedPodCreatedAt:
		column(m, e, abi.TypeI64, &c.placedCreatedAt)
	case abi.PlacedPodState:
		column(m, e, abi.TypeU8, &c.placedState)
	default:
		c.setNamespace(m, e)
	}
}

// setNamespace makes the slice of one column. It skips unknown columns and types.
func (c *columns) setNamespace(m *memory, e *columnEntry) {
	switch e.id {
	case abi.NamespaceName:
		column(m, e, abi.TypeU32, &c.namespaceName)
	case abi.NamespaceLabels:
		column(m, e, abi.TypeSpan, &c.namespaceLabels)
	case abi.NamespaceLabels + abi.ArenaOf:
		column(m, e, abi.TypePair, &c.namespaceLabelsArena)
	case abi.NamespaceLabel:
		keyed(m, e, abi.TypeU32, c.namespaceLabel)
	case abi.NamespaceRequested:
		keyed(m, e, abi.TypeI64, c.namespaceRequested)
	case abi.NamespaceObjectNumbers:
		keyed(m, e, abi.TypeSpan, c.namespaceObjectNumbers)
	case abi.NamespaceObjectNumbers + abi.ArenaOf:
		keyed(m, e, abi.TypeI64, c.namespaceObjectNumbersArena)
	case abi.NamespaceObjectTexts:
		keyed(m, e, abi.TypeSpan, c.namespaceObjectTexts)
	case abi.NamespaceObjectTexts + abi.ArenaOf:
		keyed(m, e, abi.TypeU32, c.namespaceObjectTextsArena)
	default:
		c.setStrings(m, e)
	}
}
