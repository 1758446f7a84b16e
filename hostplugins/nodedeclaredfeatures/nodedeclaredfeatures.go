// Package nodedeclaredfeatures rejects nodes that do not declare, in status.declaredFeatures,
// the kubelet features that the pod's spec needs (KEP-5328).
package nodedeclaredfeatures

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "NodeDeclaredFeatures"

// ReasonMissing is kube-scheduler's reason for a node that lacks a feature.
const ReasonMissing = "node(s) didn't match Pod's required features"

// NodeDeclaredFeatures is the plugin.
type NodeDeclaredFeatures struct {
	info    plugin.Info
	missing []string
}

var (
	_ plugin.PreFilter = (*NodeDeclaredFeatures)(nil)
	_ plugin.Filter    = (*NodeDeclaredFeatures)(nil)
)

// New returns the plugin. As in kube-scheduler v1.37, features that every v1.37 node has are
// not checked.
func New() *NodeDeclaredFeatures {
	n := &NodeDeclaredFeatures{missing: []string{ReasonMissing}}
	n.info = plugin.Info{
		Name:       Name,
		Reads:      plugin.Whole(abi.NodeDeclaredFeatures, abi.PodDeclaredFeatures),
		NodeScoped: []abi.Point{abi.Filter},
		Enforces:   state.FeatureDeclaredFeatures,
		Events: []plugin.Event{
			{
				ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.UpdateNodeDeclaredFeature},
				Hint:         afterNodeChange,
			},
			{ClusterEvent: state.ClusterEvent{Resource: state.TargetPodResource, Action: state.Update}, Hint: n.afterPodUpdate},
		},
	}
	return n
}

// Info describes the plugin.
func (n *NodeDeclaredFeatures) Info() *plugin.Info { return &n.info }

// PreFilter skips pods that need none of these features.
func (n *NodeDeclaredFeatures) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	switch {
	case c.Pod.NeedsErr != nil:
		return nil, plugin.Fail(c.Pod.NeedsErr)
	case c.Pod.Needs.IsEmpty():
		return nil, plugin.NewStatus(abi.Skip)
	}
	return nil, nil
}

// Filter rejects nodes that do not declare all features that the pod needs.
func (n *NodeDeclaredFeatures) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	var reason uint16
	for i, row := range rows {
		if subset, err := c.Pod.Needs.IsSubset(c.Snapshot.Nodes.Node[row].Declared); err != nil {
			out.Reject(i, abi.Error, out.Reason(fmt.Sprintf("BUG: features of node %s: %v", c.Snapshot.Name(row), err)))
			continue
		} else if subset {
			continue
		}
		if reason == 0 {
			reason = out.Reason(n.missing...)
		}
		out.Reject(i, abi.UnschedulableAndUnresolvable, reason)
	}
}

// afterNodeChange queues the pod when a node was added, or its declared features changed.
func afterNodeChange(_ *state.Pod, object state.Object) (state.Hint, error) {
	was, now := object.OldNode, object.NewNode
	if now == nil {
		return state.Queue, errors.New("the event of an added or updated node has no node")
	}
	if was != nil && slices.Equal(was.Object.Status.DeclaredFeatures, now.Object.Status.DeclaredFeatures) {
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}

// afterPodUpdate queues the pod when the features that it needs changed.
func (n *NodeDeclaredFeatures) afterPodUpdate(pod *state.Pod, object state.Object) (state.Hint, error) {
	was, now := object.OldPod, object.NewPod
	switch {
	case was == nil || now == nil:
		return state.Queue, errors.New("the event of an updated pod lacks one of its versions")
	case now.UID != pod.UID:
		return state.QueueSkip, nil
	case was.NeedsErr != nil || now.NeedsErr != nil:
		return state.Queue, cmp.Or(was.NeedsErr, now.NeedsErr)
	case now.Needs.Equal(was.Needs):
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}
