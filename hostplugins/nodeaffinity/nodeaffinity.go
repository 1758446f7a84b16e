// Package nodeaffinity enforces spec.nodeSelector and required node affinity, and scores nodes
// by preferred node affinity. The args' addedAffinity applies to all pods of the profile in
// addition to their own.
package nodeaffinity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "NodeAffinity"

// kube-scheduler's reasons.
const (
	ReasonPod      = "node(s) didn't match Pod's node affinity/selector"
	ReasonEnforced = "node(s) didn't match scheduler-enforced node affinity"
	ReasonConflict = "pod affinity terms conflict"
)

// NodeAffinity is the plugin.
type NodeAffinity struct {
	info          plugin.Info
	pod, enforced []string // reason sets

	// added holds the required terms of addedAffinity, and addedSelector the same for a single
	// node; both are nil without them.
	added          []state.Term
	addedSelector  *nodeaffinity.NodeSelector
	addedPreferred []state.Term
	hasPreferred   bool // addedAffinity has preferred terms
}

var (
	_ plugin.PreFilter = (*NodeAffinity)(nil)
	_ plugin.Filter    = (*NodeAffinity)(nil)
	_ plugin.PreScore  = (*NodeAffinity)(nil)
	_ plugin.Score     = (*NodeAffinity)(nil)
	_ plugin.Scaler    = (*NodeAffinity)(nil)
)

// New returns the plugin. args may be nil.
func New(args *configv1.NodeAffinityArgs) (*NodeAffinity, error) {
	n := &NodeAffinity{pod: []string{ReasonPod}, enforced: []string{ReasonEnforced}}
	n.info = plugin.Info{
		Name:       Name,
		Reads:      plugin.Whole(abi.NodeName, abi.NodeLabels, abi.PodNodeSelector, abi.PodRequiredTerms, abi.PodPreferredTerms),
		NodeScoped: []abi.Point{abi.Filter, abi.Score},
		Enforces:   state.FeatureNodeAffinity,
		Events: []plugin.Event{{
			ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.UpdateNodeLabel},
			Hint:         n.afterNodeChange,
		}},
	}
	if args == nil || args.AddedAffinity == nil {
		return n, nil
	}
	return n, n.add(args.AddedAffinity, field.NewPath("addedAffinity"))
}

// add compiles addedAffinity, a field of NodeAffinityArgs.
func (n *NodeAffinity) add(added *v1.NodeAffinity, path *field.Path) (err error) {
	if required := added.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		path := path.Child("requiredDuringSchedulingIgnoredDuringExecution")
		if n.addedSelector, err = nodeaffinity.NewNodeSelector(required, field.WithPath(path)); err != nil {
			return fmt.Errorf("added affinity: %w", err)
		}
		n.added = state.CompileTerms(required.NodeSelectorTerms)
	}
	if preferred := added.PreferredDuringSchedulingIgnoredDuringExecution; len(preferred) > 0 {
		path := path.Child("preferredDuringSchedulingIgnoredDuringExecution")
		if _, err := nodeaffinity.NewPreferredSchedulingTerms(preferred, field.WithPath(path)); err != nil {
			return fmt.Errorf("added affinity: %w", err)
		}
		n.addedPreferred, n.hasPreferred = state.CompilePreferred(preferred), true
	}
	return nil
}

// Info describes the plugin.
func (n *NodeAffinity) Info() *plugin.Info { return &n.info }

// afterNodeChange queues the pod when a matching node was added, or when an update made a node match. kube-scheduler does
// not ask whether the node matched addedAffinity before.
func (n *NodeAffinity) afterNodeChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewNode == nil {
		return state.Queue, fmt.Errorf("the event of an added or updated node has no node")
	}
	required := nodeaffinity.GetRequiredNodeAffinity(pod.Object)
	matches := func(node *v1.Node) (bool, error) {
		if n.addedSelector != nil && !n.addedSelector.Match(node) {
			return false, nil
		}
		return required.Match(node)
	}
	is, err := matches(object.NewNode.Object)
	if err != nil {
		return state.Queue, err
	}
	if !is {
		return state.QueueSkip, nil
	}
	if object.OldNode == nil {
		return state.Queue, nil
	}
	was, err := matches(object.OldNode.Object)
	if err != nil || !was {
		return state.Queue, err
	}
	return state.QueueSkip, nil
}
