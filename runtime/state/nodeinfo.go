package state

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// PlacedPod is a pod on a node, with its slot in the pods table and the
// generation of its last change.
type PlacedPod struct {
	Pod        *Pod
	Slot       uint32
	Generation uint64
}

// NodeInfo is what the cache knows of one node: the object, the pods on it and
// their sums. The cache owns it; a snapshot copies from it.
type NodeInfo struct {
	Name string
	// Node is nil while pods are known of a node that is not: a ghost.
	Node *Node
	// Rank orders nodes for a tie-break by first node: the smallest wins.
	Rank uint64
	// Pods is in no particular order.
	Pods []PlacedPod
	// Requested is the sum over Pods; Requested.Pods is their number.
	Requested Resources
	// NonZeroCPU (milli-CPU) and NonZeroMemory (bytes) are sums of the pods'
	// requests with defaults.
	NonZeroCPU, NonZeroMemory int64

	// ObjectGeneration changes with Node, PodsGeneration with Pods. Generations
	// are taken from one counter and never used twice.
	ObjectGeneration, PodsGeneration uint64

	withPorts int // pods that have host ports
}

// Clone returns a copy that is no longer the cache's. Pods and nodes are
// immutable, so they are shared.
func (n *NodeInfo) Clone() *NodeInfo {
	c := *n
	c.Pods = slices.Clone(n.Pods)
	c.Requested.Scalars = slices.Clone(n.Requested.Scalars)
	return &c
}

// AddPod adds a pod that is not yet on the node.
func (n *NodeInfo) AddPod(p PlacedPod) {
	n.Pods = append(n.Pods, p)
	n.account(p.Pod, 1)
}

// RemovePod removes a pod and returns what it removed.
func (n *NodeInfo) RemovePod(uid types.UID) (PlacedPod, bool) {
	i := slices.IndexFunc(n.Pods, func(p PlacedPod) bool { return p.Pod.UID == uid })
	if i < 0 {
		return PlacedPod{}, false
	}
	p := n.Pods[i]
	last := len(n.Pods) - 1
	n.Pods[i] = n.Pods[last]
	n.Pods[last] = PlacedPod{}
	n.Pods = n.Pods[:last]
	n.account(p.Pod, -1)
	return p, true
}

func (n *NodeInfo) account(p *Pod, sign int64) {
	n.Requested.accumulate(&p.Requests, sign)
	if sign < 0 && len(p.Requests.Scalars) > 0 {
		// Or a node keeps a resource, and snapshots its column, forever.
		n.Requested.Scalars = slices.DeleteFunc(n.Requested.Scalars, func(s Scalar) bool { return s.Value == 0 })
	}
	n.NonZeroCPU += sign * p.NonZeroCPU
	n.NonZeroMemory += sign * p.NonZeroMemory
	if len(p.HostPorts) > 0 {
		n.withPorts += int(sign)
	}
}
