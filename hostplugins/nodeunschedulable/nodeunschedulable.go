// Package nodeunschedulable rejects cordoned nodes (spec.unschedulable) for pods that do not
// tolerate the taint node.kubernetes.io/unschedulable:NoSchedule.
package nodeunschedulable

import (
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/taints"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "NodeUnschedulable"

// ReasonUnschedulable is kube-scheduler's reason for a cordoned node.
const ReasonUnschedulable = "node(s) were unschedulable"

// NodeUnschedulable is the plugin.
type NodeUnschedulable struct {
	info     plugin.Info
	cordoned []string
}

var (
	_ plugin.PreFilter = (*NodeUnschedulable)(nil)
	_ plugin.Filter    = (*NodeUnschedulable)(nil)
)

// New returns the plugin.
func New() *NodeUnschedulable {
	return &NodeUnschedulable{
		cordoned: []string{ReasonUnschedulable},
		info: plugin.Info{
			Name:       Name,
			Reads:      plugin.Whole(abi.NodeFlags, abi.PodTolerations),
			NodeScoped: []abi.Point{abi.Filter},
			Events: []plugin.Event{
				{ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.UpdateNodeTaint}, Hint: afterNodeChange},
				{ClusterEvent: state.ClusterEvent{Resource: state.TargetPodResource, Action: state.UpdatePodToleration}, Hint: afterTolerationChange},
			},
		},
	}
}

// Info describes the plugin.
func (n *NodeUnschedulable) Info() *plugin.Info { return &n.info }

// PreFilter has nothing to do. kube-scheduler's plugin has this point, so configuration files may name it there.
func (n *NodeUnschedulable) PreFilter(*plugin.Cycle) ([]uint32, *plugin.Status) { return nil, nil }

// Filter rejects cordoned nodes unless the pod tolerates them.
func (n *NodeUnschedulable) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	if toleratesCordon(c.Pod) {
		return
	}
	flags := c.Snapshot.Nodes.Flags
	var reason uint16
	for i, row := range rows {
		if flags[row]&abi.NodeUnschedulable == 0 {
			continue
		}
		if reason == 0 {
			reason = out.Reason(n.cordoned...)
		}
		out.Reject(i, abi.UnschedulableAndUnresolvable, reason)
	}
}

func toleratesCordon(pod *state.Pod) bool {
	taint := v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}
	return taints.Tolerated(&taint, pod.Tolerations, false) // the taint has no value to compare
}

// afterNodeChange queues the pod when a node that is not cordoned was added, or when a node was
// uncordoned.
func afterNodeChange(_ *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewNode == nil {
		return state.Queue, errors.New("the event of an added or updated node has no node")
	}
	was := object.OldNode == nil || object.OldNode.Object.Spec.Unschedulable
	if was && !object.NewNode.Object.Spec.Unschedulable {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterTolerationChange queues the pod when an update made it tolerate cordons. Tolerations can
// only be added, and a rejected pod had none that matches.
func afterTolerationChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewPod == nil {
		return state.Queue, errors.New("the event of an updated pod has no pod")
	}
	if object.NewPod.UID == pod.UID && toleratesCordon(object.NewPod) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}
