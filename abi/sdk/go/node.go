package berth

import "github.com/berth-scheduler/berth/abi"

// Node is a node, as a view of its row.
type Node struct {
	c   *columns
	row uint32
}

// Row is the number of the node's row in this instance. It has no other meaning, and answers
// must not depend on it.
func (n Node) Row() uint32 { return n.row }

// Name is metadata.name. Reads `node: name`.
func (n Node) Name() string { return str(of(n.c.name, n.c.nameBytes, n.row)) }

// Unschedulable is spec.unschedulable. Reads `node: flags`.
func (n Node) Unschedulable() bool { return n.c.flags[n.row]&abi.NodeUnschedulable != 0 }

// Allocatable is status.allocatable in milli-CPU, bytes or a count. Reads
// `node: allocatable`.
func (n Node) Allocatable(r Resource) int64 { return n.c.allocable[r][n.row] }

// Capacity is status.capacity in milli-CPU, bytes or a count. Reads `node: capacity`.
func (n Node) Capacity(r Resource) int64 { return n.c.capacity[r][n.row] }

// CreatedAt is metadata.creationTimestamp in seconds since 1970; 0 for none. Reads
// `node: createdAt`.
func (n Node) CreatedAt() int64 { return n.c.createdAt[n.row] }

// Requested is the sum of the requests of pods on the node; for `pods` it is their number.
// Reads `node: requested`.
func (n Node) Requested(r Resource) int64 { return n.c.requested[r][n.row] }

// NonZeroRequested is milli-CPU and bytes requested, where a container without a request counts
// 100 milli-CPU and 200 MiB. Reads `node: nonZeroRequested`.
func (n Node) NonZeroRequested() (cpu, memory int64) {
	return n.c.nonZero[0][n.row], n.c.nonZero[1][n.row]
}

// Feed is the value of a declared feed for the node, in the feed's unit; 0 if FeedState is
// FeedNone. Reads `feeds`.
func (n Node) Feed(f Feed) int64 { return n.c.feed[f][n.row] }

// FeedState is the state of what a declared feed says of the node. Reads `feeds`.
func (n Node) FeedState(f Feed) FeedState { return n.c.feedState[f][n.row] }

// RequestedSince is the sum of the requests of pods on the node that the samples of the declared
// feeds cannot contain, by the oldest of them. Reads `node: requestedSince`.
func (n Node) RequestedSince(r Resource) int64 { return n.c.requestedSince[r][n.row] }

// Label is the value of a declared label key; Absent if the node does not have
// it. Reads `nodeLabels`.
func (n Node) Label(key NodeLabel) ID { return n.c.label[key][n.row] }

// Labels are all labels, unordered. Reads `node: labels`.
func (n Node) Labels() []Pair { return of(n.c.labels, n.c.labelPairs, n.row) }

// LabelByKey is the value of any label key, looked up in Labels; Absent if the node does not
// have it. Reads `node: labels`.
func (n Node) LabelByKey(key ID) ID { return find(n.Labels(), key) }

// Annotation is the value of a declared annotation key. Reads `nodeAnnotations`.
func (n Node) Annotation(key NodeAnnotation) ID { return n.c.annotation[key][n.row] }

// Taints is spec.taints. Reads `node: taints`.
func (n Node) Taints() []Taint { return of(n.c.taints, n.c.taintList, n.row) }

// Ports are the host ports in use. Reads `node: ports`.
func (n Node) Ports() []Port { return of(n.c.ports, n.c.portList, n.row) }

// Images is status.images, with an entry per name. Reads `node: images`.
func (n Node) Images() []Image { return of(n.c.images, n.c.imageList, n.row) }

// Condition is the status of a declared condition type. Reads `nodeConditions`.
func (n Node) Condition(typ NodeCondition) Condition { return n.c.condition[typ][n.row] }

// Pods are the pods on the node that the plugin may see. Reads `node: pods`.
func (n Node) Pods() Pods { return Pods{c: n.c, slots: of(n.c.podsOn, n.c.slots, n.row)} }

// Zone is the value of the label topology.kubernetes.io/zone, or else of its older name; Absent
// if the node has neither. Reads `node: zone`.
func (n Node) Zone() ID { return n.c.zone[n.row] }

// Generation is the row's generation. Reads `node: generation`.
func (n Node) Generation() uint64 { return n.c.generation[n.row] }

// Pods is a list of pods on a node, unordered.
type Pods struct {
	c     *columns
	slots []uint32
}

// Len returns the number of pods.
func (p Pods) Len() int { return len(p.slots) }

// At returns the i-th pod.
func (p Pods) At(i int) PlacedPod { return PlacedPod{c: p.c, slot: p.slots[i]} }

// PlacedPod is a pod on a node, as a view of its slot.
type PlacedPod struct {
	c    *columns
	slot uint32
}

// Name is metadata.name. Reads `pods: name`.
func (p PlacedPod) Name() string { return str(of(p.c.podName, p.c.podNameBytes, p.slot)) }

// UID is metadata.uid. Reads `pods: uid`.
func (p PlacedPod) UID() string { return str(of(p.c.podUID, p.c.uidBytes, p.slot)) }

// Namespace is metadata.namespace. Reads `pods: namespace`.
func (p PlacedPod) Namespace() ID { return p.c.podNamespace[p.slot] }

// Priority is spec.priority. Reads `pods: priority`.
func (p PlacedPod) Priority() int32 { return p.c.podPriority[p.slot] }

// Request is what the pod requests of a resource. Reads `pods: requests`.
func (p PlacedPod) Request(r Resource) int64 { return p.c.podRequests[r][p.slot] }

// Limit is how much of a resource the pod may use; −1 if a container has no limit. Reads `pods: limits`.
func (p PlacedPod) Limit(r Resource) int64 { return p.c.podLimits[r][p.slot] }

// QOS is the QoS class: Guaranteed, Burstable or BestEffort. Reads `pods: qos`.
func (p PlacedPod) QOS() ID { return p.c.podQOS[p.slot] }

// Label is the value of a declared label key. Reads `podLabels`.
func (p PlacedPod) Label(key PodLabel) ID { return p.c.podLabel[key][p.slot] }

// Labels are all labels, unordered. Reads `pods: labels`.
func (p PlacedPod) Labels() []Pair { return of(p.c.podLabels, p.c.podPairs, p.slot) }

// LabelByKey is the value of any label key. Reads `pods: labels`.
func (p PlacedPod) LabelByKey(key ID) ID { return find(p.Labels(), key) }

// Annotation is the value of a declared annotation key, including the patches of Reserve. Reads
// `podAnnotations`.
func (p PlacedPod) Annotation(key PodAnnotation) ID { return p.c.podAnnotation[key][p.slot] }

// Owner is `Kind/name` of the controlling owner; Absent if there is none. Reads `pods: owner`.
func (p PlacedPod) Owner() ID { return p.c.podOwner[p.slot] }

// Terminating reports whether the pod is being deleted. Reads `pods: flags`.
func (p PlacedPod) Terminating() bool { return p.c.podFlags[p.slot]&abi.PodTerminating != 0 }

// AssignedAt is when the pod got its node, in seconds since 1970: the time of the condition
// PodScheduled, or the host's while the API does not say; 0 if neither is known. Reads
// `pods: assignedAt`.
func (p PlacedPod) AssignedAt() int64 { return p.c.podAssigned[p.slot] }

// CreatedAt is metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `pods: createdAt`.
func (p PlacedPod) CreatedAt() int64 { return p.c.podCreated[p.slot] }

// Running reports whether status.phase is Running. Reads `pods: state`.
func (p PlacedPod) Running() bool { return p.c.podState[p.slot]&abi.PodRunning != 0 }

// Ready reports whether the condition Ready is True. Reads `pods: state`.
func (p PlacedPod) Ready() bool { return p.c.podState[p.slot]&abi.PodReady != 0 }

// find returns the value of a key.
func find(pairs []Pair, key ID) ID {
	for i := range pairs {
		if pairs[i].Key == key {
			return pairs[i].Value
		}
	}
	return Absent
}
