package state

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// PlacedPod is a pod on a node, with its slot in the pods table and the
// generation of its last change.
type PlacedPod struct {
	Pod        *Pod
	Slot       uint32
	Generation uint64
}

// NodeInfo is what the cache knows about one node: the object, its pods and their sums. The
// cache owns it; a snapshot copies from it.
type NodeInfo struct {
	Name string
	// Node is nil for a ghost: an unknown node with known pods.
	Node *Node
	// Rank orders nodes for a tie-break by first node: the smallest rank wins.
	Rank uint64
	// Pods is unordered.
	Pods []PlacedPod
	// Nominated are the pods that are nominated to the node, in the order of the nominations, if a plugin reads them. They count in no sum.
	// They change with PodsGeneration.
	Nominated []PlacedPod
	// Requested is the sum over Pods; Requested.Pods is their number.
	Requested Resources
	// NonZeroCPU (milli-CPU) and NonZeroMemory (bytes) are sums of the pods'
	// requests with defaults.
	NonZeroCPU, NonZeroMemory int64

	// ObjectGeneration changes with Node, PodsGeneration with Pods. Generations come from one
	// counter and are never reused.
	ObjectGeneration, PodsGeneration uint64

	// Cells are what feeds say of the node, in the order of the names in Feeds; new lists if that changes, and then a new FeedsGeneration.
	Cells           []Cell
	Feeds           []string
	FeedsGeneration uint64

	withPorts int // number of pods with host ports

	// The first same pods have been in their places, with their slots, since PodsGeneration was since.
	same  int
	since uint64
}

// Clone returns a copy that does not belong to the cache. It shares pods and nodes, which are
// immutable.
func (n *NodeInfo) Clone() *NodeInfo {
	c := *n
	c.Pods, c.Nominated = slices.Clone(n.Pods), slices.Clone(n.Nominated)
	c.Requested.Scalars = slices.Clone(n.Requested.Scalars)
	return &c
}

// Shown says that a snapshot shows the node as it is now. The next update of that snapshot writes only the pods
// that change from now on. It may be left out.
func (n *NodeInfo) Shown() { n.same, n.since = len(n.Pods), n.PodsGeneration }

// SetSlot gives a pod another slot.
func (n *NodeInfo) SetSlot(i int, slot uint32) {
	n.Pods[i].Slot = slot
	n.same = min(n.same, i)
}

// AddPod adds a pod that is not on the node yet.
func (n *NodeInfo) AddPod(p PlacedPod) {
	n.Pods = append(n.Pods, p)
	n.account(p.Pod, 1)
}

// RemovePod removes a pod and returns what it removed.
func (n *NodeInfo) RemovePod(uid types.UID) (PlacedPod, bool) {
	i := len(n.Pods) - 1
	for i >= 0 && n.Pods[i].Pod.UID != uid { // from the end: most removals confirm a pod that was just assumed
		i--
	}
	if i < 0 {
		return PlacedPod{}, false
	}
	n.same = min(n.same, i)
	p := n.Pods[i]
	last := len(n.Pods) - 1
	n.Pods[i] = n.Pods[last]
	n.Pods[last] = PlacedPod{}
	n.Pods = n.Pods[:last]
	n.account(p.Pod, -1)
	return p, true
}

func (n *NodeInfo) account(p *Pod, sign int64) {
	if len(p.HostPorts) > 0 {
		n.withPorts += int(sign)
	}
	if sign < 0 && (n.Requested.Full(&p.Requests) || n.NonZeroCPU == math.MaxInt64 || n.NonZeroMemory == math.MaxInt64) {
		n.Requested, n.NonZeroCPU, n.NonZeroMemory = Resources{}, 0, 0
		for i := range n.Pods {
			n.sum(n.Pods[i].Pod, 1)
		}
		return
	}
	n.sum(p, sign)
}

func (n *NodeInfo) sum(p *Pod, sign int64) {
	n.Requested.accumulate(&p.Requests, sign)
	if sign < 0 && len(p.Requests.Scalars) > 0 {
		// Otherwise a node keeps a resource, and snapshots its column, forever.
		n.Requested.Scalars = slices.DeleteFunc(n.Requested.Scalars, func(s Scalar) bool { return s.Value == 0 })
	}
	n.NonZeroCPU = quantity.Sum(n.NonZeroCPU, sign*p.NonZeroCPU)
	n.NonZeroMemory = quantity.Sum(n.NonZeroMemory, sign*p.NonZeroMemory)
}
