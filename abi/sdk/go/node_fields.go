package berth

import "github.com/berth-scheduler/berth/abi"

// Generated from abi/fields.

// Name is metadata.name. Reads `node: name`.
func (n Node) Name() string { return str(of(n.c.nodeName, n.c.nodeNameArena, n.row)) }

// Unschedulable is spec.unschedulable. Reads `node: flags`.
func (n Node) Unschedulable() bool { return n.c.nodeFlags[n.row]&abi.NodeUnschedulable != 0 }

// Allocatable is status.allocatable, in milli-CPU, bytes or a count. Reads `node: allocatable`.
func (n Node) Allocatable(r Resource) int64 { return n.c.nodeAllocatable[r][n.row] }

// Requested is the sum of the requests of the pods on the node; for `pods` their number. Reads
// `node: requested`.
func (n Node) Requested(r Resource) int64 { return n.c.nodeRequested[r][n.row] }

// NonZeroRequested is milli-CPU and bytes requested, where a container without a request counts 100 milli-CPU
// and 200 MiB. Reads `node: nonZeroRequested`.
func (n Node) NonZeroRequested() (cpu, memory int64) {
	return n.c.nodeNonZeroRequested[0][n.row], n.c.nodeNonZeroRequested[1][n.row]
}

// Labels are all labels, unordered. Reads `node: labels`.
func (n Node) Labels() []Pair { return of(n.c.nodeLabels, n.c.nodeLabelsArena, n.row) }

// LabelByKey is the value of any label key, found among all labels; Absent if there is none. Reads
// `node: labels`.
func (n Node) LabelByKey(key ID) ID { return find(n.Labels(), key) }

// Annotation is the value of a declared annotation key; Absent if the node does not have it. Reads
// `nodeAnnotations`.
func (n Node) Annotation(key NodeAnnotation) ID { return n.c.nodeAnnotation[key][n.row] }

// Taints is spec.taints. Reads `node: taints`.
func (n Node) Taints() []Taint { return of(n.c.nodeTaints, n.c.nodeTaintsArena, n.row) }

// Ports are the host ports in use. Reads `node: ports`.
func (n Node) Ports() []Port { return of(n.c.nodePorts, n.c.nodePortsArena, n.row) }

// Images is status.images, an entry a name. Reads `node: images`.
func (n Node) Images() []Image { return of(n.c.nodeImages, n.c.nodeImagesArena, n.row) }

// Condition is the status of a declared type of condition. Reads `nodeConditions`.
func (n Node) Condition(typ NodeCondition) Condition { return n.c.nodeCondition[typ][n.row] }

// Pods are the pods on the node that the plugin may see. Reads `node: pods`.
func (n Node) Pods() Pods { return Pods{c: n.c, slots: of(n.c.nodePods, n.c.nodePodsArena, n.row)} }

// Generation is the row's generation. Reads `node: generation`.
func (n Node) Generation() uint64 { return n.c.nodeGeneration[n.row] }

// Label is the value of a declared label key; Absent if the node does not have it. Reads `nodeLabels`.
func (n Node) Label(key NodeLabel) ID { return n.c.nodeLabel[key][n.row] }

// Zone is the value of the label topology.kubernetes.io/zone, or else of its older name; Absent if the node has
// neither. Reads `node: zone`.
func (n Node) Zone() ID { return n.c.nodeZone[n.row] }

// Capacity is status.capacity, in milli-CPU, bytes or a count; a change of it alone is no event. Reads
// `node: capacity`.
func (n Node) Capacity(r Resource) int64 { return n.c.nodeCapacity[r][n.row] }

// CreatedAt is metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `node: createdAt`.
func (n Node) CreatedAt() int64 { return n.c.nodeCreatedAt[n.row] }

// Nominated are the pods that are nominated to the node and that the plugin may see. Reads `node: nominated`.
func (n Node) Nominated() Pods {
	return Pods{c: n.c, slots: of(n.c.nodeNominated, n.c.nodeNominatedArena, n.row)}
}

// Feed is what a declared feed says of the node, in the feed's unit; 0 if it has never said anything. Reads
// `feeds`.
func (n Node) Feed(f Feed) int64 { return n.c.nodeFeed[f][n.row] }

// FeedState is the state of what a declared feed says of the node. Reads `feeds`.
func (n Node) FeedState(f Feed) FeedState { return n.c.nodeFeedState[f][n.row] }

// RequestedSince is the sum of the requests of pods on the node that the samples of the declared feeds cannot
// contain, by the oldest of them. Reads `node: requestedSince`.
func (n Node) RequestedSince(r Resource) int64 { return n.c.nodeRequestedSince[r][n.row] }

// ObjectNumbers are the values of a declared column of the node's object: integers, quantities in thousandths,
// times in seconds since 1970, or 0 and 1. Reads `objectColumns`.
func (n Node) ObjectNumbers(key ObjectColumn) []int64 {
	return of(n.c.nodeObjectNumbers[key], n.c.nodeObjectNumbersArena[key], n.row)
}

// ObjectTexts are the values of a declared column of type string of the node's object. Reads `objectColumns`.
func (n Node) ObjectTexts(key ObjectColumn) []ID {
	return of(n.c.nodeObjectTexts[key], n.c.nodeObjectTextsArena[key], n.row)
}

// Namespace is metadata.namespace. Reads `pods: namespace`.
func (p PlacedPod) Namespace() ID { return p.c.placedNamespace[p.slot] }

// Priority is spec.priority. Reads `pods: priority`.
func (p PlacedPod) Priority() int32 { return p.c.placedPriority[p.slot] }

// Request is what the pod requests of a resource. Reads `pods: requests`.
func (p PlacedPod) Request(r Resource) int64 { return p.c.placedRequests[r][p.slot] }

// Labels are all labels, unordered. Reads `pods: labels`.
func (p PlacedPod) Labels() []Pair { return of(p.c.placedLabels, p.c.placedLabelsArena, p.slot) }

// LabelByKey is the value of any label key, found among all labels; Absent if there is none. Reads
// `pods: labels`.
func (p PlacedPod) LabelByKey(key ID) ID { return find(p.Labels(), key) }

// Annotation is the value of a declared annotation key, what plugins reserved included. Reads `podAnnotations`.
func (p PlacedPod) Annotation(key PodAnnotation) ID { return p.c.placedAnnotation[key][p.slot] }

// Owner is `Kind/name` of the controlling owner; Absent for none. Reads `pods: owner`.
func (p PlacedPod) Owner() ID { return p.c.placedOwner[p.slot] }

// Label is the value of a declared label key. Reads `podLabels`.
func (p PlacedPod) Label(key PodLabel) ID { return p.c.placedLabel[key][p.slot] }

// Terminating reports whether the pod is being deleted. Reads `pods: flags`.
func (p PlacedPod) Terminating() bool { return p.c.placedFlags[p.slot]&abi.PodTerminating != 0 }

// UID is metadata.uid. Reads `pods: uid`.
func (p PlacedPod) UID() string { return str(of(p.c.placedUID, p.c.placedUIDArena, p.slot)) }

// Name is metadata.name. Reads `pods: name`.
func (p PlacedPod) Name() string { return str(of(p.c.placedName, p.c.placedNameArena, p.slot)) }

// Limit is how much of a resource the pod may use; −1 if a container has no limit. Reads `pods: limits`.
func (p PlacedPod) Limit(r Resource) int64 { return p.c.placedLimits[r][p.slot] }

// QOS is the QoS class: Guaranteed, Burstable or BestEffort. Reads `pods: qos`.
func (p PlacedPod) QOS() ID { return p.c.placedQOS[p.slot] }

// AssignedAt is when the pod got its node, in seconds since 1970: the time of the condition PodScheduled, or the
// host's while the API does not say; 0 if neither is known. Reads `pods: assignedAt`.
func (p PlacedPod) AssignedAt() int64 { return p.c.placedAssignedAt[p.slot] }

// CreatedAt is metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `pods: createdAt`.
func (p PlacedPod) CreatedAt() int64 { return p.c.placedCreatedAt[p.slot] }

// Running reports whether status.phase is Running. Reads `pods: state`.
func (p PlacedPod) Running() bool { return p.c.placedState[p.slot]&abi.PodRunning != 0 }

// Ready reports whether the condition Ready is True. Reads `pods: state`.
func (p PlacedPod) Ready() bool { return p.c.placedState[p.slot]&abi.PodReady != 0 }

// Name is metadata.name; Absent for an empty row. Reads `namespaces: name`.
func (n Namespace) Name() ID { return n.c.namespaceName[n.row] }

// Labels are all labels, unordered. Reads `namespaces: labels`.
func (n Namespace) Labels() []Pair { return of(n.c.namespaceLabels, n.c.namespaceLabelsArena, n.row) }

// LabelByKey is the value of any label key, found among all labels; Absent if there is none. Reads
// `namespaces: labels`.
func (n Namespace) LabelByKey(key ID) ID { return find(n.Labels(), key) }

// Label is the value of a declared label key. Reads `namespaceLabels`.
func (n Namespace) Label(key NamespaceLabel) ID { return n.c.namespaceLabel[key][n.row] }

// Requested is the sum of the requests of the namespace's pods on nodes; for `pods` their number. Reads
// `namespaces: requested`.
func (n Namespace) Requested(r Resource) int64 { return n.c.namespaceRequested[r][n.row] }

// ObjectNumbers are the values of a declared column of the namespace's object: integers, quantities in
// thousandths, times in seconds since 1970, or 0 and 1. Reads `objectColumns`.
func (n Namespace) ObjectNumbers(key ObjectColumn) []int64 {
	return of(n.c.namespaceObjectNumbers[key], n.c.namespaceObjectNumbersArena[key], n.row)
}

// ObjectTexts are the values of a declared column of type string of the namespace's object. Reads
// `objectColumns`.
func (n Namespace) ObjectTexts(key ObjectColumn) []ID {
	return of(n.c.namespaceObjectTexts[key], n.c.namespaceObjectTextsArena[key], n.row)
}
