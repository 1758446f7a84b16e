// Package nodename restricts a pod whose spec.nodeName is set to that node.
package nodename

import (
	"errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "NodeName"

// ReasonNoMatch is kube-scheduler's reason for a node with another name.
const ReasonNoMatch = "node(s) didn't match the requested node name"

// NodeName is the plugin.
type NodeName struct {
	info    plugin.Info
	noMatch []string
}

var (
	_ plugin.PreFilter = (*NodeName)(nil)
	_ plugin.Filter    = (*NodeName)(nil)
)

// New returns the plugin.
func New() *NodeName {
	return &NodeName{
		noMatch: []string{ReasonNoMatch},
		info: plugin.Info{
			Name:       Name,
			Reads:      plugin.Whole(abi.NodeName, abi.PodNodeName),
			NodeScoped: []abi.Point{abi.Filter},
			Resizes:    true,
			// A node with the name may be added; an update never changes a node's name.
			Events: []plugin.Event{{ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add}, Hint: afterNodeAdd}},
		},
	}
}

// Info describes the plugin.
func (n *NodeName) Info() *plugin.Info { return &n.info }

// PreFilter narrows the rows down to the node that the pod names: preemption must not try others.
func (n *NodeName) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	name := c.Pod.NodeName()
	if name == "" {
		return nil, nil
	}
	rows := []uint32{}
	if row, ok := c.Snapshot.Row(name); ok {
		rows = append(rows, row)
	}
	return rows, nil
}

// Filter rejects nodes with other names.
func (n *NodeName) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	name := c.Pod.NodeName()
	if name == "" {
		return
	}
	var reason uint16
	for i, row := range rows {
		if c.Snapshot.Nodes.Node[row].Name == name {
			continue
		}
		if reason == 0 {
			reason = out.Reason(n.noMatch...)
		}
		out.Reject(i, abi.UnschedulableAndUnresolvable, reason)
	}
}

// afterNodeAdd queues the pod when any node was added, or one that waits for a resize when its own was.
func afterNodeAdd(pod *state.Pod, object state.Object) (state.Hint, error) {
	switch {
	case object.NewNode == nil:
		return state.Queue, errors.New("the event of an added node has no node")
	case pod.ResizeDeferred() && object.NewNode.Name != pod.NodeName():
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}
