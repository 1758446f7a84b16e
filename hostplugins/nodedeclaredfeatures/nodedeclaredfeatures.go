// Package nodedeclaredfeatures keeps pods off nodes that do not declare, in
// status.declaredFeatures, the features of the kubelet that the pod's spec needs
// (KEP-5328).
package nodedeclaredfeatures

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	declared "k8s.io/component-helpers/nodedeclaredfeatures"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "NodeDeclaredFeatures"

// ReasonMissing is kube-scheduler's text for a node that lacks a feature.
const ReasonMissing = "node(s) didn't match Pod's required features"

const preFilterKey = "PreFilter"

// NodeDeclaredFeatures is the plugin.
type NodeDeclaredFeatures struct {
	info    plugin.Info
	version *version.Version // a feature that is as old as it needs no declaring
	missing []string
}

var (
	_ plugin.PreFilter = (*NodeDeclaredFeatures)(nil)
	_ plugin.Filter    = (*NodeDeclaredFeatures)(nil)
)

// New returns the plugin. Features that every node of v1.36 has are not asked
// for, as in kube-scheduler v1.36.
func New() *NodeDeclaredFeatures {
	n := &NodeDeclaredFeatures{version: version.MajorMinor(1, 36), missing: []string{ReasonMissing}}
	n.info = plugin.Info{
		Name:     Name,
		Reads:    []abi.ColumnID{abi.PodWhole},
		Enforces: state.FeatureDeclaredFeatures,
		Events: []plugin.Event{
			{
				ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.UpdateNodeDeclaredFeature},
				Hint:         afterNodeChange,
			},
			{ClusterEvent: state.ClusterEvent{Resource: state.PodResource, Action: state.Update}, Hint: n.afterPodUpdate},
		},
	}
	return n
}

// Info describes the plugin.
func (n *NodeDeclaredFeatures) Info() *plugin.Info { return &n.info }

// needed is the features that a node must declare.
type needed struct{ declared.FeatureSet }

// Clone returns the value itself: it does not change after PreFilter.
func (n needed) Clone() state.Value { return n }

// infer returns what a pod's spec needs. Its status does not count: of a pod that
// is not bound it says nothing.
func (n *NodeDeclaredFeatures) infer(pod *v1.Pod) (declared.FeatureSet, error) {
	return declared.DefaultFramework.InferForPodScheduling(&declared.PodInfo{Spec: &pod.Spec}, n.version)
}

// PreFilter skips pods that need nothing of the kind.
func (n *NodeDeclaredFeatures) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	features, err := n.infer(c.Pod.Object)
	switch {
	case err != nil:
		return nil, plugin.Fail(err)
	case features.IsEmpty():
		return nil, plugin.NewStatus(abi.Skip)
	}
	c.State.Write(Name, preFilterKey, needed{features})
	return nil, nil
}

// Filter rejects nodes that do not declare all of what PreFilter found.
func (n *NodeDeclaredFeatures) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	need, ok := c.State.Read(Name, preFilterKey).(needed)
	if !ok {
		features, err := n.infer(c.Pod.Object)
		if err != nil {
			reason := out.Reason(err.Error())
			for i := range rows {
				out.Reject(i, abi.Error, reason)
			}
			return
		}
		need = needed{features}
	}
	var reason uint16
	for i, row := range rows {
		declares := c.Snapshot.Nodes.Node[row].Declared
		if subset, err := need.IsSubset(declares); err != nil {
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

// afterNodeChange queues the pod when a node came, or declares other features
// than before.
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

// afterPodUpdate queues the pod when it needs other features than before.
func (n *NodeDeclaredFeatures) afterPodUpdate(pod *state.Pod, object state.Object) (state.Hint, error) {
	was, now := object.OldPod, object.NewPod
	if was == nil || now == nil {
		return state.Queue, errors.New("the event of an updated pod lacks one of its versions")
	}
	if now.UID != pod.UID {
		return state.QueueSkip, nil
	}
	before, err := n.infer(was.Object)
	if err != nil {
		return state.Queue, err
	}
	after, err := n.infer(now.Object)
	if err != nil {
		return state.Queue, err
	}
	if after.Equal(before) {
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}
