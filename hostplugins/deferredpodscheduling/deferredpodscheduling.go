// Package deferredpodscheduling handles pods that run on a node whose kubelet has deferred their resize in place (KEP-1287),
// so that pods of lower priority on the node can be evicted for it (KEP-5836). It rejects such a pod if preemption is not allowed
// on its node, and if there is room for the resize: then only the kubelet has something to do.
package deferredpodscheduling

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "DeferredPodScheduling"

// kube-scheduler's reasons.
const (
	ReasonOtherNode = "pod assigned to different node"
	ReasonDisabled  = "node had resize preemption disabled"
	ReasonFits      = "pod resize fits, waiting for Kubelet actuation"
)

// Config configures the plugin.
type Config struct {
	// On has such pods tried, as kube-scheduler does with the gate InPlacePodVerticalScalingSchedulerPreemption. Otherwise the
	// plugin does nothing.
	On bool
}

// DeferredPodScheduling is the plugin.
type DeferredPodScheduling struct{ info plugin.Info }

var (
	_ plugin.PreFilter = (*DeferredPodScheduling)(nil)
	_ plugin.Filter    = (*DeferredPodScheduling)(nil)
	_ plugin.Permit    = (*DeferredPodScheduling)(nil)
)

// New returns the plugin.
func New(c Config) *DeferredPodScheduling {
	p := &DeferredPodScheduling{}
	// Filter reads spec.podPreemptionPolicy, which is no column. Its answers are not kept, as for all pods that wait for a resize.
	p.info = plugin.Info{
		Name: Name, Reads: plugin.Whole(abi.NodeName, abi.PodNodeName), NodeScoped: []abi.Point{abi.Filter}, Resizes: true, TriesResizes: c.On,
	}
	if c.On {
		p.info.Events = []plugin.Event{
			{
				ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.UpdateNodePreemptionPolicy},
				Hint:         afterPolicyChange,
			},
			{ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.UpdateNodeAllocatable}, Hint: afterAllocatableChange},
			{
				ClusterEvent: state.ClusterEvent{Resource: state.AssignedPodResource, Action: state.Add | state.UpdatePodScaleUp},
				Hint:         afterPodGrowth,
			},
			{ClusterEvent: state.ClusterEvent{Resource: state.TargetPodResource, Action: state.UpdatePodScaleUp}},
		}
	}
	return p
}

// Info describes the plugin.
func (p *DeferredPodScheduling) Info() *plugin.Info { return &p.info }

// PreFilter skips Filter for pods that wait for no resize.
func (p *DeferredPodScheduling) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	if !c.Resize {
		return nil, plugin.NewStatus(abi.Skip)
	}
	return nil, nil
}

// Filter rejects all nodes but that of the pod, and that one if it allows no preemption.
func (p *DeferredPodScheduling) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	for i, row := range rows {
		switch node := c.Snapshot.Nodes.Node[row]; {
		case node.Name != c.Pod.NodeName():
			out.Reject(i, abi.UnschedulableAndUnresolvable, out.Reason(ReasonOtherNode))
		case disabled(node.Object):
			out.Reject(i, abi.UnschedulableAndUnresolvable, out.Reason(ReasonDisabled))
		}
	}
}

// disabled reports whether somebody has switched preemption for resizes off on a node.
func disabled(node *v1.Node) bool {
	policy := node.Spec.PodPreemptionPolicy
	return policy != nil && len(policy.DisableResizePreemption) > 0
}

// Permit rejects a pod whose resize fits.
func (p *DeferredPodScheduling) Permit(placement *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	if !p.info.TriesResizes || !placement.Pod.ResizeDeferred() {
		return 0, plugin.Directives{}, nil
	}
	return 0, plugin.Directives{}, plugin.NewStatus(abi.UnschedulableAndUnresolvable, ReasonFits)
}

var errNoObject = errors.New("the event lacks its object")

// afterPolicyChange queues the pod when its node comes back, or allows preemption again.
func afterPolicyChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewNode == nil {
		return state.Queue, errNoObject
	}
	was := object.OldNode == nil || disabled(object.OldNode.Object)
	if object.NewNode.Name == pod.NodeName() && was && !disabled(object.NewNode.Object) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterAllocatableChange queues the pod when its node changed: a resize that did fit may need room.
func afterAllocatableChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewNode == nil {
		return state.Queue, errNoObject
	}
	if object.NewNode.Name == pod.NodeName() {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterPodGrowth queues the pod when another one on its node has taken some of the room.
func afterPodGrowth(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewPod == nil {
		return state.Queue, errNoObject
	}
	if object.NewPod.NodeName() == pod.NodeName() && object.NewPod.UID != pod.UID {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}
