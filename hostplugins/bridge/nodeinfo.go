package bridge

import (
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	declared "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

// nodeInfo implements framework.NodeInfo for a row of the snapshot. It is immutable: a row that
// changes gets a new one, so a plugin may keep it beyond the cycle. Only the copies that
// Snapshot returns are modified, by the plugin that owns them.
type nodeInfo struct {
	node                                 *state.Node
	pods, withAffinity, withRequiredAnti []framework.PodInfo
	requested, nonZero, allocatable      *resources
	generation                           int64
	objectGeneration, podsGeneration     uint64
	images                               *imageCounts

	// lazy holds values that few plugins ask for, from any goroutine.
	lazy struct {
		mu            sync.Mutex
		ports         framework.HostPortInfo
		claims        map[string]int
		features      *declared.FeatureSet
		images        map[string]*framework.ImageStateSummary
		imagesVersion uint64
	}
}

var _ framework.NodeInfo = (*nodeInfo)(nil)

// newNodeInfo builds the NodeInfo of a row, which may be an overlay. pod returns the PodInfo of
// a slot. old (optional) is the row's previous NodeInfo.
func newNodeInfo(s *state.Snapshot, row uint32, pod func(slot uint32) *podInfo, images *imageCounts, old *nodeInfo) *nodeInfo {
	t := &s.Nodes
	n := &nodeInfo{
		node: t.Node[row], images: images,
		objectGeneration: t.ObjectGeneration[row], podsGeneration: t.PodsGeneration[row],
		nonZero: &resources{milliCPU: t.NonZeroCPU[row], memory: t.NonZeroMemory[row]},
		requested: &resources{
			milliCPU:         t.Resources[state.CPU].Requested[row],
			memory:           t.Resources[state.Memory].Requested[row],
			ephemeralStorage: t.Resources[state.EphemeralStorage].Requested[row],
		},
	}
	n.generation = int64(max(n.objectGeneration, n.podsGeneration))
	for i := range t.Resources {
		r := &t.Resources[i]
		if i != state.CPU && i != state.Memory && i != state.EphemeralStorage && i != state.PodCount && r.Requested[row] != 0 {
			n.requested.setScalar(r.Name, r.Requested[row])
		}
	}
	if old != nil && old.node == n.node {
		n.allocatable = old.allocatable
	} else {
		n.allocatable = newResources(&n.node.Allocatable)
	}
	slots := t.Pods.Row(row)
	n.pods = make([]framework.PodInfo, len(slots))
	for i, slot := range slots {
		p := pod(slot)
		n.pods[i] = p
		n.list(p, p.hasAffinity, p.hasRequiredAntiAffinity)
	}
	return n
}

// list adds a pod to the lists of pods with affinity.
func (n *nodeInfo) list(p framework.PodInfo, affinity, requiredAnti bool) {
	if affinity {
		n.withAffinity = append(n.withAffinity, p)
	}
	if requiredAnti {
		n.withRequiredAnti = append(n.withRequiredAnti, p)
	}
}

// Node implements framework.NodeInfo.
func (n *nodeInfo) Node() *v1.Node {
	if n == nil || n.node == nil {
		return nil
	}
	return n.node.Object
}

// GetPods implements framework.NodeInfo.
func (n *nodeInfo) GetPods() []framework.PodInfo { return n.pods }

// GetPodsWithAffinity implements framework.NodeInfo.
func (n *nodeInfo) GetPodsWithAffinity() []framework.PodInfo { return n.withAffinity }

// GetPodsWithRequiredAntiAffinity implements framework.NodeInfo.
func (n *nodeInfo) GetPodsWithRequiredAntiAffinity() []framework.PodInfo { return n.withRequiredAnti }

// GetPodsWithRequiredNonHostScopedAntiAffinity implements framework.NodeInfo: none, as without the gate
// InterPodAffinityHostnameFastPath.
func (n *nodeInfo) GetPodsWithRequiredNonHostScopedAntiAffinity() []framework.PodInfo { return nil }

// GetRequested implements framework.NodeInfo.
func (n *nodeInfo) GetRequested() framework.Resource { return n.requested }

// GetNonZeroRequested implements framework.NodeInfo.
func (n *nodeInfo) GetNonZeroRequested() framework.Resource { return n.nonZero }

// GetAllocatable implements framework.NodeInfo.
func (n *nodeInfo) GetAllocatable() framework.Resource { return n.allocatable }

// GetGeneration implements framework.NodeInfo.
func (n *nodeInfo) GetGeneration() int64 { return n.generation }

// GetUsedPorts implements framework.NodeInfo.
func (n *nodeInfo) GetUsedPorts() framework.HostPortInfo {
	n.lazy.mu.Lock()
	defer n.lazy.mu.Unlock()
	if n.lazy.ports == nil {
		n.lazy.ports = framework.HostPortInfo{}
		for _, p := range n.pods {
			for _, port := range podOf(p).HostPorts {
				n.lazy.ports.Add(port.IP, protocolName(port.Protocol), int32(port.Port))
			}
		}
	}
	return n.lazy.ports
}

// GetPVCRefCounts implements framework.NodeInfo.
func (n *nodeInfo) GetPVCRefCounts() map[string]int {
	n.lazy.mu.Lock()
	defer n.lazy.mu.Unlock()
	if n.lazy.claims == nil {
		n.lazy.claims = map[string]int{}
		for _, p := range n.pods {
			for _, claim := range claimsOf(p) {
				n.lazy.claims[claim]++
			}
		}
	}
	return n.lazy.claims
}

// GetNodeDeclaredFeatures implements framework.NodeInfo.
func (n *nodeInfo) GetNodeDeclaredFeatures() declared.FeatureSet {
	n.lazy.mu.Lock()
	defer n.lazy.mu.Unlock()
	if n.lazy.features == nil {
		set := declared.DefaultFramework.TryMap(n.node.Object.Status.DeclaredFeatures)
		n.lazy.features = &set
	}
	return *n.lazy.features
}

// GetImageStates implements framework.NodeInfo. An image has the size that this node reports.
// The number of nodes that have it is taken from the current snapshot.
func (n *nodeInfo) GetImageStates() map[string]*framework.ImageStateSummary {
	n.lazy.mu.Lock()
	defer n.lazy.mu.Unlock()
	n.lazy.images, n.lazy.imagesVersion = n.images.summaries(n.node, n.lazy.images, n.lazy.imagesVersion)
	return n.lazy.images
}

// String implements framework.NodeInfo.
func (n *nodeInfo) String() string {
	names := make([]string, len(n.pods))
	for i, p := range n.pods {
		names[i] = p.GetPod().Name
	}
	return fmt.Sprintf("node %s: pods %v, requested %+v, allocatable %+v", n.node.Name, names, *n.requested, *n.allocatable)
}

// Snapshot implements framework.NodeInfo: it returns a copy for the caller.
func (n *nodeInfo) Snapshot() framework.NodeInfo {
	return &nodeInfo{
		node: n.node, images: n.images, generation: n.generation,
		pods: slices.Clone(n.pods), withAffinity: slices.Clone(n.withAffinity), withRequiredAnti: slices.Clone(n.withRequiredAnti),
		requested: n.requested.clone(), nonZero: n.nonZero.clone(), allocatable: n.allocatable.clone(),
		objectGeneration: n.objectGeneration, podsGeneration: n.podsGeneration,
	}
}

// AddPodInfo implements framework.NodeInfo, for copies.
func (n *nodeInfo) AddPodInfo(p framework.PodInfo) {
	n.pods = append(n.pods, p)
	affinity := p.GetPod().Spec.Affinity
	n.list(p, affinity != nil && (affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil),
		len(framework.GetPodAntiAffinityTerms(affinity)) > 0)
	n.account(p, 1)
}

// RemovePod implements framework.NodeInfo, for copies.
func (n *nodeInfo) RemovePod(_ klog.Logger, pod *v1.Pod) error {
	is := func(p framework.PodInfo) bool { return p.GetPod().UID == pod.UID }
	i := slices.IndexFunc(n.pods, is)
	if i < 0 {
		return fmt.Errorf("pod %s/%s is not on node %s, so it cannot be removed", pod.Namespace, pod.Name, n.node.Name)
	}
	p := n.pods[i]
	n.pods = slices.Delete(n.pods, i, i+1)
	n.withAffinity = slices.DeleteFunc(n.withAffinity, is)
	n.withRequiredAnti = slices.DeleteFunc(n.withRequiredAnti, is)
	n.account(p, -1)
	return nil
}

// account adds a pod to the totals, or subtracts it, and discards values derived from the
// previous pods.
func (n *nodeInfo) account(p framework.PodInfo, sign int64) {
	if sign < 0 && (n.requested.full() || n.nonZero.full()) { // a sum that stopped there is not the exact one
		n.requested, n.nonZero = &resources{}, &resources{}
		for _, other := range n.pods {
			n.sum(other, 1)
		}
	} else {
		n.sum(p, sign)
	}
	n.generation = n.images.edited()
	n.lazy.ports, n.lazy.claims = nil, nil
}

func (n *nodeInfo) sum(p framework.PodInfo, sign int64) {
	r := p.CalculateResource()
	n.requested.add(r.Resource, sign)
	n.nonZero.milliCPU = quantity.Sum(n.nonZero.milliCPU, sign*r.Non0CPU)
	n.nonZero.memory = quantity.Sum(n.nonZero.memory, sign*r.Non0Mem)
}

// SetNode implements framework.NodeInfo, for copies.
func (n *nodeInfo) SetNode(node *v1.Node) {
	n.node = state.NewNode(node)
	n.allocatable = newResources(&n.node.Allocatable)
	n.generation = n.images.edited()
	n.lazy.features, n.lazy.images, n.lazy.imagesVersion = nil, nil, 0
}

// claimsOf returns the claims of a PodInfo, which may be a plugin's own implementation.
func claimsOf(p framework.PodInfo) []string {
	if own, ok := p.(*podInfo); ok {
		return own.claims
	}
	return newPodInfo(podOf(p)).claims
}
