package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// whatIf is the context in which a hosted PostFilter tries hypothetical nodes.
type whatIf struct {
	cycle  *plugin.Cycle
	origin *cycleState // of the cycle
	maker  plugin.WhatIf
}

// hypothetical is a hypothetical node with its current pods.
type hypothetical struct {
	plugin.HypotheticalNode
	on []*state.Pod
}

// open starts PostFilter, and close ends it.
func (h *Handle) open(w *whatIf) {
	h.whatIfMu.Lock()
	defer h.whatIfMu.Unlock()
	h.whatIf = w
}

func (h *Handle) close() { h.open(nil) }

// try creates a hypothetical node for a plugin's state and node, or finds the existing one, and
// calls act with it.
func (h *Handle) try(cs framework.CycleState, node framework.NodeInfo, act func(*hypothetical) *plugin.Status) *framework.Status {
	h.whatIfMu.Lock()
	defer h.whatIfMu.Unlock()
	t, err := h.hypothetical(cs, node)
	if err != nil {
		return framework.AsStatus(err)
	}
	return frameworkStatus(act(t))
}

func (h *Handle) hypothetical(cs framework.CycleState, node framework.NodeInfo) (*hypothetical, error) {
	w := h.whatIf
	if w == nil {
		return nil, errors.New("a plugin can run the profile's plugins only within its PostFilter; " +
			"elsewhere judge the node by its NodeInfo")
	}
	s, ok := cs.(*cycleState)
	if !ok || node.Node() == nil {
		return nil, fmt.Errorf("a state of type %T and a node of type %T do not belong to this cycle; pass those that PostFilter was given, or clones of them", cs, node)
	}
	name := node.Node().Name
	if t, ok := s.hypothetical[name]; ok {
		return t, nil
	}
	snapshot := w.cycle.Snapshot
	row, ok := snapshot.Row(name)
	if !ok {
		return nil, fmt.Errorf("node %q is not in the snapshot", name)
	}
	t := &hypothetical{}
	for _, slot := range snapshot.Nodes.Pods.Row(row) {
		t.on = append(t.on, snapshot.Pods.Pod[slot])
	}
	// What the plugin wrote to its state is what its own points read on that node.
	w.origin.cloneAs = s
	t.HypotheticalNode = w.maker.Node(row)
	w.origin.cloneAs = nil
	if s.hypothetical == nil {
		s.hypothetical = make(map[string]*hypothetical)
	}
	s.hypothetical[name] = t
	return t, nil
}

// remove removes a pod from the node, if it is there.
func (t *hypothetical) remove(uid types.UID) *plugin.Status {
	i := t.index(uid)
	if i < 0 {
		return nil
	}
	pod := t.on[i]
	t.on = slices.Delete(t.on, i, i+1)
	return t.Remove(pod)
}

// add adds a pod to the node, unless it is already there.
func (t *hypothetical) add(p framework.PodInfo) *plugin.Status {
	if t.index(p.GetPod().UID) >= 0 {
		return nil
	}
	pod := podOf(p)
	t.on = append(t.on, pod)
	return t.Add(pod)
}

func (t *hypothetical) index(uid types.UID) int {
	return slices.IndexFunc(t.on, func(p *state.Pod) bool { return p.UID == uid })
}

// become gives the node the pods of a NodeInfo that the plugin has changed.
func (t *hypothetical) become(node framework.NodeInfo) *plugin.Status {
	want := make(map[types.UID]bool, len(t.on))
	for _, p := range node.GetPods() {
		want[p.GetPod().UID] = true
	}
	for _, pod := range slices.Clone(t.on) {
		if !want[pod.UID] {
			if status := t.remove(pod.UID); !status.Success() {
				return status
			}
		}
	}
	for _, p := range node.GetPods() {
		if status := t.add(p); !status.Success() {
			return status
		}
	}
	return nil
}

// RunPreFilterExtensionAddPod implements framework.PluginsRunner.
func (h *Handle) RunPreFilterExtensionAddPod(_ context.Context, cs framework.CycleState, _ *v1.Pod, add framework.PodInfo, node framework.NodeInfo) *framework.Status {
	return h.try(cs, node, func(t *hypothetical) *plugin.Status { return t.add(add) })
}

// RunPreFilterExtensionRemovePod implements framework.PluginsRunner.
func (h *Handle) RunPreFilterExtensionRemovePod(_ context.Context, cs framework.CycleState, _ *v1.Pod, remove framework.PodInfo, node framework.NodeInfo) *framework.Status {
	return h.try(cs, node, func(t *hypothetical) *plugin.Status { return t.remove(remove.GetPod().UID) })
}

// RunFilterPluginsWithNominatedPods implements framework.Handle.
func (h *Handle) RunFilterPluginsWithNominatedPods(_ context.Context, cs framework.CycleState, _ *v1.Pod, node framework.NodeInfo) *framework.Status {
	return h.try(cs, node, func(t *hypothetical) *plugin.Status {
		if status := t.become(node); !status.Success() {
			return status
		}
		return t.Judge()
	})
}

// RunFilterPlugins implements framework.PluginsRunner. Pods that are nominated to
// the node count, as in RunFilterPluginsWithNominatedPods.
func (h *Handle) RunFilterPlugins(ctx context.Context, cs framework.CycleState, pod *v1.Pod, node framework.NodeInfo) *framework.Status {
	return h.RunFilterPluginsWithNominatedPods(ctx, cs, pod, node)
}

// RunPreScorePlugins implements framework.PluginsRunner; see [Handle].
func (h *Handle) RunPreScorePlugins(context.Context, framework.CycleState, *v1.Pod, []framework.NodeInfo) *framework.Status {
	return framework.AsStatus(errNoScores())
}

// RunScorePlugins implements framework.PluginsRunner; see [Handle].
func (h *Handle) RunScorePlugins(context.Context, framework.CycleState, *v1.Pod, []framework.NodeInfo) ([]framework.NodePluginScores, *framework.Status) {
	return nil, framework.AsStatus(errNoScores())
}

// RunReservePluginsReserve implements framework.PluginsRunner; see [Handle].
func (h *Handle) RunReservePluginsReserve(context.Context, framework.CycleState, *v1.Pod, string) *framework.Status {
	return framework.AsStatus(errors.New("a plugin cannot run the profile's Reserve plugins; only the scheduling cycle does"))
}

// RunReservePluginsUnreserve implements framework.PluginsRunner: nothing was reserved; see [Handle].
func (h *Handle) RunReservePluginsUnreserve(context.Context, framework.CycleState, *v1.Pod, string) {}

func errNoScores() error {
	return errors.New("a plugin cannot run the profile's Score plugins; only the scheduling cycle does")
}
