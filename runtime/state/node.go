package state

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	declared "k8s.io/component-helpers/nodedeclaredfeatures"

	"github.com/berth-scheduler/berth/abi/wire"
)

// NodeImage is an image on a node, under one of its names.
type NodeImage struct {
	Name string
	Size int64 // bytes
}

// Node is a node decoded once. It is immutable; an updated object gets a new Node.
type Node struct {
	// Object is the API object. It is shared with informers: never change it.
	Object      *v1.Node
	Name        string
	Allocatable Resources
	// Images has an entry for each name of each image, sorted by name.
	Images []NodeImage
	// Declared is status.declaredFeatures, without unknown features (KEP-5328).
	Declared declared.FeatureSet
}

// NewNode decodes a node.
func NewNode(object *v1.Node) *Node {
	n := &Node{Object: object, Name: object.Name, Allocatable: NewResources(object.Status.Allocatable)}
	n.Declared = declared.DefaultFramework.TryMap(object.Status.DeclaredFeatures)
	for i := range object.Status.Images {
		image := &object.Status.Images[i]
		for _, name := range image.Names {
			n.Images = append(n.Images, NodeImage{Name: name, Size: image.SizeBytes})
		}
	}
	slices.SortStableFunc(n.Images, func(a, b NodeImage) int { return strings.Compare(a.Name, b.Name) })
	n.Images = slices.CompactFunc(n.Images, func(a, b NodeImage) bool { return a.Name == b.Name })
	return n
}

// Capacity returns status.capacity of a resource, in the unit of Resources; 0 if there is none.
func (n *Node) Capacity(name v1.ResourceName) int64 {
	q, ok := n.Object.Status.Capacity[name]
	if !ok {
		return 0
	}
	r := NewResources(v1.ResourceList{name: q})
	return r.Amount(name)
}

// CreatedAt returns metadata.creationTimestamp in seconds since 1970; 0 if there is none.
func (n *Node) CreatedAt() int64 { return seconds(n.Object.CreationTimestamp) }

// Changes returns the events for the change from old to n. There is no event for a change that
// no plugin can read, or for a cordon, which helps no pod.
func (n *Node) Changes(old *Node) []ClusterEvent {
	var out []ClusterEvent
	add := func(a Action) { out = append(out, ClusterEvent{Resource: NodeResource, Action: a}) }
	a, b := old.Object, n.Object
	if a.Spec.Unschedulable && !b.Spec.Unschedulable || !equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) {
		add(UpdateNodeTaint)
	}
	if !equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable) {
		add(UpdateNodeAllocatable)
	}
	if !maps.Equal(a.Labels, b.Labels) {
		add(UpdateNodeLabel)
	}
	if !maps.Equal(conditions(a), conditions(b)) {
		add(UpdateNodeCondition)
	}
	if !maps.Equal(a.Annotations, b.Annotations) {
		add(UpdateNodeAnnotation)
	}
	if !slices.Equal(a.Status.DeclaredFeatures, b.Status.DeclaredFeatures) {
		add(UpdateNodeDeclaredFeature)
	}
	if !equality.Semantic.DeepEqual(a.Spec.PodPreemptionPolicy, b.Spec.PodPreemptionPolicy) {
		add(UpdateNodePreemptionPolicy)
	}
	return out
}

// conditions omits heartbeat times and messages, because they change all the time.
func conditions(n *v1.Node) map[v1.NodeConditionType]v1.ConditionStatus {
	out := make(map[v1.NodeConditionType]v1.ConditionStatus, len(n.Status.Conditions))
	for i := range n.Status.Conditions {
		out[n.Status.Conditions[i].Type] = n.Status.Conditions[i].Status
	}
	return out
}

// Changes returns the events for the change from old to p, of a resource: TargetPodResource for the pod itself that waits,
// AssignedPodResource for others.
func (p *Pod) Changes(old *Pod, resource EventResource) []ClusterEvent {
	var out []ClusterEvent
	add := func(a Action) { out = append(out, ClusterEvent{Resource: resource, Action: a}) }
	a, b := old.Object, p.Object
	if !maps.Equal(a.Labels, b.Labels) {
		add(UpdatePodLabel)
	}
	if scaledDown(&old.Requests, &p.Requests) {
		add(UpdatePodScaleDown)
	}
	if scaledDown(&p.Requests, &old.Requests) {
		add(UpdatePodScaleUp)
	}
	if len(a.Spec.SchedulingGates) > 0 && len(b.Spec.SchedulingGates) == 0 {
		add(UpdatePodSchedulingGatesEliminated)
	}
	if len(a.Spec.Tolerations) != len(b.Spec.Tolerations) {
		add(UpdatePodToleration)
	}
	if !equality.Semantic.DeepEqual(a.Status.ResourceClaimStatuses, b.Status.ResourceClaimStatuses) ||
		!equality.Semantic.DeepEqual(a.Status.ExtendedResourceClaimStatus, b.Status.ExtendedResourceClaimStatus) {
		add(UpdatePodGeneratedResourceClaim)
	}
	ready := Action(0)
	if old.State() != p.State() {
		ready = UpdatePodReady
	}
	switch {
	case len(out) == 0:
		add(UpdateOther | ready)
	case ready != 0:
		add(ready)
	}
	return out
}

func scaledDown(old, now *Resources) bool {
	if now.MilliCPU < old.MilliCPU || now.Memory < old.Memory || now.EphemeralStorage < old.EphemeralStorage {
		return true
	}
	for _, s := range old.Scalars {
		if now.Scalar(s.Name) < s.Value {
			return true
		}
	}
	return false
}

// TaintEffect converts the API's effect. An unknown effect becomes 0, which all tolerations and
// filters ignore.
func TaintEffect(e v1.TaintEffect) wire.Effect {
	switch e {
	case v1.TaintEffectNoSchedule:
		return wire.NoSchedule
	case v1.TaintEffectPreferNoSchedule:
		return wire.PreferNoSchedule
	case v1.TaintEffectNoExecute:
		return wire.NoExecute
	}
	return 0
}
