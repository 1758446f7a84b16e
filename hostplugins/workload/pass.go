package workload

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/pernode"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/hostplugins/nodeaffinity"
	"github.com/berth-scheduler/berth/hostplugins/noderesources"
	"github.com/berth-scheduler/berth/hostplugins/tainttoleration"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Pass filters all nodes for one of the pods, by index. The statuses belong to the pass and are
// valid until its next call. A Pass must not be used concurrently.
type Pass interface {
	Filter(pod int) Statuses
}

// Statuses is the outcome of a pass: one element per node.
type Statuses struct {
	Codes   []abi.Code
	Reasons [][]string
}

// Equal returns the first difference between two outcomes, or nil.
func Equal(a, b Statuses) error {
	if len(a.Codes) != len(b.Codes) {
		return fmt.Errorf("%d nodes and %d nodes", len(a.Codes), len(b.Codes))
	}
	for i := range a.Codes {
		if a.Codes[i] != b.Codes[i] || !slices.Equal(a.Reasons[i], b.Reasons[i]) {
			return fmt.Errorf("node %d: %v %q and %v %q", i, a.Codes[i], a.Reasons[i], b.Codes[i], b.Reasons[i])
		}
	}
	return nil
}

// Compare runs all pods through two passes and returns the first difference.
func Compare(a, b Pass) error {
	for pod := range Pods {
		if err := Equal(a.Filter(pod), b.Filter(pod)); err != nil {
			return fmt.Errorf("pod %d: %w", pod, err)
		}
	}
	return nil
}

// Objects is the baseline: component-helpers over API objects, node by node, with precomputed
// totals of the pods of each node.
type Objects struct {
	chain  plugintest.Objects
	nodes  []*pernode.Node
	pods   []*v1.Pod
	result plugintest.Result
}

var _ Pass = (*Objects)(nil)

// NewObjects prepares the baseline.
func NewObjects(w Load) *Objects {
	return &Objects{
		chain: plugintest.Objects{Filters: []pernode.Filter{&pernode.TaintToleration{}, &pernode.NodeAffinity{}, &pernode.Fit{}}},
		nodes: pernode.Cluster(w.Nodes, w.Placed),
		pods:  w.Pods,
	}
}

// Filter filters all nodes for a pod.
func (o *Objects) Filter(pod int) Statuses {
	o.chain.Run(o.nodes, o.pods[pod], &o.result)
	return Statuses{Codes: o.result.Code, Reasons: o.result.Reasons}
}

// Columns runs the native plugins over a snapshot.
type Columns struct {
	chain    plugintest.Columns
	snapshot *state.Snapshot
	pods     []*state.Pod
	result   plugintest.Result
}

var _ Pass = (*Columns)(nil)

// NewColumns prepares the native pass.
func NewColumns(w Load) (*Columns, error) {
	affinity, err := nodeaffinity.New(nil)
	if err != nil {
		return nil, err
	}
	fit, err := noderesources.NewFit(&configv1.NodeResourcesFitArgs{}, noderesources.NoDevices{})
	if err != nil {
		return nil, err
	}
	c := &Columns{
		chain:    plugintest.Columns{Filters: []plugin.Filter{tainttoleration.New(tainttoleration.Config{}), affinity, fit}},
		snapshot: plugintest.Snapshot(w.Nodes, w.Placed),
	}
	for _, pod := range w.Pods {
		c.pods = append(c.pods, state.NewPod(pod))
	}
	return c, nil
}

// Filter filters all nodes for a pod.
func (c *Columns) Filter(pod int) Statuses {
	c.chain.Run(c.snapshot, c.pods[pod], &c.result)
	return Statuses{Codes: c.result.Code, Reasons: c.result.Reasons}
}

// Snapshot returns the snapshot that the pass reads.
func (c *Columns) Snapshot() *state.Snapshot { return c.snapshot }

// Pod returns one of the pods, decoded.
func (c *Columns) Pod(i int) *state.Pod { return c.pods[i] }
