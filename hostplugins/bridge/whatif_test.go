package bridge_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// whatIf is the pipeline as a PostFilter sees it: overlay rows, for which the hosted plugins
// are informed of added and removed pods and run their filters.
type whatIf struct {
	c       *plugin.Cycle
	plugins []*bridge.Plugin
	made    int
}

func (w *whatIf) Node(row uint32) plugin.HypotheticalNode {
	w.made++
	c := *w.c
	c.State = w.c.State.Clone()
	return &oneNode{w: w, c: &c, row: w.c.Snapshot.Overlay(row)}
}

type oneNode struct {
	w   *whatIf
	c   *plugin.Cycle
	row uint32
}

func (t *oneNode) Row() uint32 { return t.row }
func (t *oneNode) Close()      { t.c.Snapshot.Release(t.row) }

func (t *oneNode) Remove(p *state.Pod) *plugin.Status {
	if !t.c.Snapshot.RemovePod(t.row, p.UID) {
		return nil
	}
	for _, q := range t.w.plugins {
		if status := q.RemovePod(t.c, t.row, p); !status.Success() {
			return status
		}
	}
	return nil
}

func (t *oneNode) Add(p *state.Pod) *plugin.Status {
	t.c.Snapshot.AddPod(t.row, p)
	for _, q := range t.w.plugins {
		if status := q.AddPod(t.c, t.row, p); !status.Success() {
			return status
		}
	}
	return nil
}

func (t *oneNode) Judge() *plugin.Status {
	for _, q := range t.w.plugins {
		var v plugin.Verdicts
		v.Reset(1)
		q.Filter(t.c, []uint32{t.row}, &v)
		if v.Codes[0] != abi.Success {
			return plugin.NewStatus(v.Codes[0], v.Texts(0)...).By(q.Info().Name)
		}
	}
	return nil
}

// counter is a plugin that keeps the number of pods of each node in its state, and admits a pod
// to a node with fewer than two; PodTopologySpread and others keep their counts in the same
// way.
type counter struct{ named }

type counts map[string]int

func (c counts) Clone() framework.StateData {
	out := counts{}
	for name, n := range c {
		out[name] = n
	}
	return out
}

func (counter) PreFilter(_ context.Context, s framework.CycleState, _ *v1.Pod, nodes []framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	c := counts{}
	for _, n := range nodes {
		c[n.Node().Name] = len(n.GetPods())
	}
	s.Write("counts", c)
	return nil, nil
}

func (c counter) PreFilterExtensions() framework.PreFilterExtensions { return c }

func (counter) AddPod(_ context.Context, s framework.CycleState, _ *v1.Pod, _ framework.PodInfo, n framework.NodeInfo) *framework.Status {
	return count(s, n, 1)
}

func (counter) RemovePod(_ context.Context, s framework.CycleState, _ *v1.Pod, _ framework.PodInfo, n framework.NodeInfo) *framework.Status {
	return count(s, n, -1)
}

func count(s framework.CycleState, n framework.NodeInfo, by int) *framework.Status {
	data, err := s.Read("counts")
	if err != nil {
		return framework.AsStatus(err)
	}
	data.(counts)[n.Node().Name] += by
	return nil
}

func (counter) Filter(_ context.Context, s framework.CycleState, _ *v1.Pod, n framework.NodeInfo) *framework.Status {
	data, err := s.Read("counts")
	if err != nil {
		return framework.AsStatus(err)
	}
	if got := data.(counts)[n.Node().Name]; got != len(n.GetPods()) {
		return framework.NewStatus(framework.Error, text("counted %d pods, there are %d", got, len(n.GetPods())))
	}
	if len(n.GetPods()) >= 2 {
		return framework.NewStatus(framework.Unschedulable, "full")
	}
	return nil
}

// preempter tries nodes in PostFilter as preemption does.
type preempter struct {
	named
	h   framework.Handle
	try func(ctx context.Context, s framework.CycleState, p *v1.Pod)
}

func (p *preempter) PostFilter(ctx context.Context, s framework.CycleState, pod *v1.Pod, _ framework.NodeToStatusReader) (*framework.PostFilterResult, *framework.Status) {
	p.try(ctx, s, pod)
	return nil, framework.NewStatus(framework.Unschedulable)
}

// postFilter runs try in the PostFilter of a plugin that is enabled together with a counter,
// over two nodes of three pods each.
func postFilter(t *testing.T, try func(h framework.Handle, ctx context.Context, s framework.CycleState, p *v1.Pod)) *whatIf {
	t.Helper()
	b := bridge.New(bridge.Config{}, bridge.Deps{})
	counting, _ := host(t, b, func(framework.Handle) framework.Plugin { return counter{"C"} })
	p := &preempter{named: "P"}
	preempting, h := host(t, b, func(h framework.Handle) framework.Plugin { p.h = h; return p })
	p.try = func(ctx context.Context, s framework.CycleState, pod *v1.Pod) { try(h, ctx, s, pod) }
	w := newWorld(node("a"), node("b"))
	for i := range 3 {
		w.addPod(0, pod(text("a%d", i)))
		w.addPod(1, pod(text("b%d", i)))
	}
	w.update()
	c := w.cycle(pod("incoming"))
	if _, status := counting.PreFilter(c); status != nil {
		t.Fatal(status.Message())
	}
	maker := &whatIf{c: c, plugins: []*bridge.Plugin{counting}}
	preempting.PostFilter(c, &plugin.Diagnosis{Codes: []abi.Code{2, 2}, WhatIf: maker})
	if got := h.RunFilterPlugins(context.Background(), nil, nil, nil); !strings.Contains(got.Message(), "only within its PostFilter") {
		t.Errorf("after PostFilter: %v", got.Message())
	}
	return maker
}

// TestHypotheticalNodes removes pods from a copy of a node and of the state as kube-scheduler's
// preemption does: from several goroutines, each with its own node.
func TestHypotheticalNodes(t *testing.T) {
	maker := postFilter(t, func(h framework.Handle, ctx context.Context, s framework.CycleState, p *v1.Pod) {
		var group sync.WaitGroup
		nodes, err := h.SnapshotSharedLister().NodeInfos().List()
		if err != nil {
			t.Fatal(err)
		}
		for _, original := range nodes {
			group.Go(func() {
				mine, n := s.Clone(), original.Snapshot()
				judge := func(want string) {
					t.Helper()
					status := h.RunFilterPluginsWithNominatedPods(ctx, mine, p, n)
					check(t, n.Node().Name, text("%v %s", status.Code(), status.Message()), want)
				}
				judge("Unschedulable full")
				gone := slices.Clone(n.GetPods()[:2])
				for _, victim := range gone {
					if err := n.RemovePod(klog.Background(), victim.GetPod()); err != nil {
						t.Error(err)
					}
					if status := h.RunPreFilterExtensionRemovePod(ctx, mine, p, victim, n); !status.IsSuccess() {
						t.Error(status.Message())
					}
				}
				judge("Success ")
				n.AddPodInfo(gone[0])
				if status := h.RunPreFilterExtensionAddPod(ctx, mine, p, gone[0], n); !status.IsSuccess() {
					t.Error(status.Message())
				}
				judge("Unschedulable full")
				// The state that the plugin holds contains what the plugins counted.
				data, err := mine.Read("counts")
				if err != nil || data.(counts)[n.Node().Name] != 2 {
					t.Errorf("counts %v, %v", data, err)
				}
			})
		}
		group.Wait()
		data, _ := s.Read("counts")
		check(t, "the cycle's own counts", data, "map[a:3 b:3]")
	})
	if maker.made != 2 {
		t.Errorf("%d hypothetical nodes were made, want one per node", maker.made)
	}
}

// TestHypotheticalNodesWithoutExtensions changes only a NodeInfo: the plugins are still
// informed of the removed pods.
func TestHypotheticalNodesWithoutExtensions(t *testing.T) {
	postFilter(t, func(h framework.Handle, ctx context.Context, s framework.CycleState, p *v1.Pod) {
		original, err := h.SnapshotSharedLister().NodeInfos().Get("b")
		if err != nil {
			t.Fatal(err)
		}
		mine, n := s.Clone(), original.Snapshot()
		for range 2 {
			_ = n.RemovePod(klog.Background(), n.GetPods()[0].GetPod())
		}
		status := h.RunFilterPlugins(ctx, mine, p, n)
		check(t, "two pods less", text("%v %s", status.Code(), status.Message()), "Success ")
		n.AddPodInfo(infoOfPod(t, pod("new")))
		status = h.RunFilterPlugins(ctx, mine, p, n)
		check(t, "and another one", text("%v %s %s", status.Code(), status.Message(), status.Plugin()), "Unschedulable full C")
	})
}

func TestHypotheticalNodeErrors(t *testing.T) {
	postFilter(t, func(h framework.Handle, ctx context.Context, s framework.CycleState, p *v1.Pod) {
		elsewhere := newWorld(node("elsewhere"))
		hosted, other := host(t, bridge.New(bridge.Config{}, bridge.Deps{}), func(framework.Handle) framework.Plugin { return watcher{"W"} })
		hosted.PreFilter(elsewhere.cycle(pod("incoming")))
		n, err := other.SnapshotSharedLister().NodeInfos().Get("elsewhere")
		if err != nil {
			t.Fatal(err)
		}
		status := h.RunFilterPlugins(ctx, s.Clone(), p, n)
		check(t, "an unknown node", text("%v %s", status.Code(), status.Message()), `Error node "elsewhere" is not in the snapshot`)
		if status := h.RunFilterPlugins(ctx, nil, p, n); !status.IsError() {
			t.Error("a nil state was accepted")
		}
		if status := h.RunPreScorePlugins(ctx, s, p, nil); !status.IsError() {
			t.Error("scores ran")
		}
		if _, status := h.RunScorePlugins(ctx, s, p, nil); !status.IsError() {
			t.Error("scores ran")
		}
	})
}

// infoOfPod returns a PodInfo for a pod, obtained as a plugin would.
func infoOfPod(t *testing.T, p *v1.Pod) framework.PodInfo {
	w := newWorld(node("n"))
	w.addPod(0, p)
	w.update()
	hosted, h := host(t, bridge.New(bridge.Config{}, bridge.Deps{}), func(framework.Handle) framework.Plugin { return watcher{"W"} })
	hosted.PreFilter(w.cycle(pod("incoming")))
	n, err := h.SnapshotSharedLister().NodeInfos().Get("n")
	if err != nil {
		t.Fatal(err)
	}
	return n.GetPods()[0]
}
