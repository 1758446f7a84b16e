// Package appspread limits how many pods of an app run on one node. It is a plugin for kube-scheduler's framework and
// knows nothing of Berth.
package appspread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
)

// Name is the plugin's name in a profile.
const Name = "AppSpread"

// label is the label of a pod that names its app.
const label = "app"

// Args are the plugin's args in a profile's pluginConfig.
type Args struct {
	// MaxPerNode is how many pods of an app a node may have.
	MaxPerNode int `json:"maxPerNode"`
}

// AppSpread filters and scores nodes by the pods of the same app that they have.
type AppSpread struct {
	args Args
}

var (
	_ framework.FilterPlugin      = (*AppSpread)(nil)
	_ framework.ScorePlugin       = (*AppSpread)(nil)
	_ framework.EnqueueExtensions = (*AppSpread)(nil)
)

// New makes the plugin.
func New(_ context.Context, args runtime.Object, _ framework.Handle) (framework.Plugin, error) {
	p := &AppSpread{args: Args{MaxPerNode: 1}}
	if raw, ok := args.(*runtime.Unknown); ok {
		if err := json.Unmarshal(raw.Raw, &p.args); err != nil {
			return nil, err
		}
	}
	if p.args.MaxPerNode < 1 {
		return nil, errors.New("maxPerNode has to be at least 1")
	}
	return p, nil
}

// Name implements framework.Plugin.
func (p *AppSpread) Name() string { return Name }

// Filter rejects nodes that have enough pods of the app.
func (p *AppSpread) Filter(_ context.Context, _ framework.CycleState, pod *v1.Pod, node framework.NodeInfo) *framework.Status {
	app, ok := pod.Labels[label]
	if ok && count(pod.Namespace, app, node) >= p.args.MaxPerNode {
		return framework.NewStatus(framework.Unschedulable, fmt.Sprintf("node(s) had %d pods of the same app", p.args.MaxPerNode))
	}
	return nil
}

// Score rates a node by the pods of the app that it can still take.
func (p *AppSpread) Score(_ context.Context, _ framework.CycleState, pod *v1.Pod, node framework.NodeInfo) (int64, *framework.Status) {
	app, ok := pod.Labels[label]
	if !ok {
		return 0, nil
	}
	return framework.MaxScore * int64(p.args.MaxPerNode-count(pod.Namespace, app, node)) / int64(p.args.MaxPerNode), nil
}

// ScoreExtensions implements framework.ScorePlugin.
func (p *AppSpread) ScoreExtensions() framework.ScoreExtensions { return nil }

// EventsToRegister implements framework.EnqueueExtensions: a pod that was rejected may fit when another of its app is
// gone.
func (p *AppSpread) EventsToRegister(context.Context) ([]framework.ClusterEventWithHint, error) {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.Node, ActionType: framework.Add}},
		{Event: framework.ClusterEvent{Resource: framework.Pod, ActionType: framework.Delete}, QueueingHintFn: hint},
	}, nil
}

func hint(_ klog.Logger, pod *v1.Pod, gone, _ any) (framework.QueueingHint, error) {
	other, ok := gone.(*v1.Pod)
	if !ok || other.Namespace != pod.Namespace || other.Labels[label] != pod.Labels[label] {
		return framework.QueueSkip, nil
	}
	return framework.Queue, nil
}

// count returns how many pods of an app a node has.
func count(namespace, app string, node framework.NodeInfo) int {
	n := 0
	for _, p := range node.GetPods() {
		if other := p.GetPod(); other.Namespace == namespace && other.Labels[label] == app {
			n++
		}
	}
	return n
}
