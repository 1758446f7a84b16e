package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// counter lets a pod onto nodes with fewer than two others. Its state counts what
// AddPod and RemovePod tell, by node, so that state and columns must agree.
type counter struct {
	info plugin.Info
	t    testing.TB
}

type counts map[string]int

func (c counts) Clone() state.Value {
	out := counts{}
	for k, v := range c {
		out[k] = v
	}
	return out
}

func (p *counter) Info() *plugin.Info { return &p.info }

func (p *counter) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	n := counts{}
	for row := range uint32(c.Snapshot.Len()) {
		n[c.Snapshot.Name(row)] = len(c.Snapshot.Nodes.Pods.Row(row))
	}
	c.State.Write("Counter", "n", n)
	return nil, nil
}

func (p *counter) change(c *plugin.Cycle, overlay uint32, by int) *plugin.Status {
	c.State.Read("Counter", "n").(counts)[c.Snapshot.Name(overlay)] += by
	return nil
}

func (p *counter) AddPod(c *plugin.Cycle, overlay uint32, _ *state.Pod) *plugin.Status {
	return p.change(c, overlay, 1)
}

func (p *counter) RemovePod(c *plugin.Cycle, overlay uint32, _ *state.Pod) *plugin.Status {
	return p.change(c, overlay, -1)
}

func (p *counter) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	n := c.State.Read("Counter", "n").(counts)
	for i, row := range rows {
		name, pods := c.Snapshot.Name(row), len(c.Snapshot.Nodes.Pods.Row(row))
		if n[name] != pods {
			p.t.Errorf("row %d of %s has %d pods, the state says %d", row, name, pods, n[name])
		}
		if pods >= 2 {
			out.Reject(i, abi.Unschedulable, out.Reason(fmt.Sprint(pods, " pods")))
		}
	}
}

// nominations is pods that preemption promised nodes to.
type nominations map[string][]*state.Pod

func (n nominations) Len() int { return len(n) }

func (n nominations) Nodes(yield func(string, []*state.Pod) bool) {
	for node, pods := range n {
		if !yield(node, pods) {
			return
		}
	}
}

// tryer is a PostFilter that runs a test.
type tryer struct {
	info plugin.Info
	run  func(c *plugin.Cycle, d *plugin.Diagnosis)
}

func (p *tryer) Info() *plugin.Info { return &p.info }

func (p *tryer) PostFilter(c *plugin.Cycle, d *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	p.run(c, d)
	return plugin.PostFilterResult{}, plugin.NewStatus(abi.Unschedulable)
}

func placedPod(name, node string, priority int32) *state.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}}
	p.Spec.NodeName, p.Spec.Priority = node, &priority
	return state.NewPod(p)
}

// talker rejects rows, each time for another reason.
type talker struct {
	info plugin.Info
	said int
}

func (p *talker) Info() *plugin.Info { return &p.info }

func (p *talker) Filter(_ *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	for i := range rows {
		p.said++
		out.Reject(i, abi.Unschedulable, out.Reason(fmt.Sprint("reason ", p.said)))
	}
}

// TestHypotheticalReasons: a cycle does not keep the reasons for which hypothetical nodes were
// rejected, however many there were before.
func TestHypotheticalReasons(t *testing.T) {
	for _, nodes := range []int{3, 15, 16, 40} {
		var infos []*state.NodeInfo
		for i := range nodes {
			name := fmt.Sprint("n", i)
			infos = append(infos, &state.NodeInfo{
				Name: name, Node: state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}), ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1),
			})
		}
		snap := state.NewSnapshot()
		snap.Rebuild(infos)
		talking := &talker{info: plugin.Info{Name: "Talker"}}
		trying := &tryer{info: plugin.Info{Name: "Tryer"}}
		w := newWorld(t, &scenario.Log{})
		w.declare("Rest", scenario.MustParse("sort= bind="))
		for point, p := range map[abi.Point]plugin.Plugin{abi.Filter: talking, abi.PostFilter: trying} {
			w.config.Points[point] = append(w.config.Points[point], pipeline.Entry{Plugin: p})
		}
		run := w.get().NewRun(nil)
		trying.run = func(_ *plugin.Cycle, d *plugin.Diagnosis) {
			for range 3 {
				for row := range uint32(nodes) {
					node := d.WhatIf.Node(row)
					if got, want := node.Judge().Message(), fmt.Sprint("reason ", talking.said); got != want {
						t.Errorf("%q, want %q", got, want)
					}
					node.Close()
				}
			}
		}
		run.Begin(plugin.Cycle{Context: context.Background(), Snapshot: snap, Pod: placedPod("new", "", 1), State: &state.CycleState{}})
		if _, _, status := run.PreFilter(); !status.Success() {
			t.Fatal(status.Message())
		}
		rows := run.Rows(nodes)
		if _, _, status := run.Filter(rows, 0, nodes); !status.Success() {
			t.Fatal(status.Message())
		}
		run.PostFilter(nil, plugin.Debt{})
		if got := run.Outcome.Groups(); got != nodes || talking.said != 4*nodes {
			t.Errorf("%d nodes: %d reasons are kept of %d", nodes, got, talking.said)
		}
		for _, row := range rows {
			if got, want := run.Outcome.Texts(row), fmt.Sprint("reason ", row+1); len(got) != 1 || got[0] != want {
				t.Errorf("row %d of %d: %q, want %s", row, nodes, got, want)
			}
		}
	}
}

// TestHypotheticalNodes: a node is judged with the pods that it has, plugins hear of each
// change, nodes do not see each other, the snapshot stays as it is, and pods
// nominated to the node count.
func TestHypotheticalNodes(t *testing.T) {
	var infos []*state.NodeInfo
	for i := range 20 {
		name := fmt.Sprint("n", i)
		info := &state.NodeInfo{
			Name: name, Node: state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}),
			ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1),
		}
		for j := range 2 {
			info.AddPod(state.PlacedPod{Pod: placedPod(fmt.Sprint("p", i, j), name, 0), Slot: uint32(2*i + j), Generation: 1})
		}
		infos = append(infos, info)
	}
	snap := state.NewSnapshot()
	snap.Rebuild(infos)
	runs := 0
	judge := func(c *plugin.Cycle, d *plugin.Diagnosis) {
		runs++
		if len(d.Codes) != 20 || slices.Contains(d.Codes, abi.Success) {
			t.Errorf("verdicts %v", d.Codes)
		}
		on := func(node string, i int) *state.Pod {
			row, _ := c.Snapshot.Row(node)
			return c.Snapshot.Pods.Pod[c.Snapshot.Nodes.Pods.Row(row)[i]]
		}
		is := func(node plugin.HypotheticalNode, want string) {
			t.Helper()
			if got := node.Judge().Message(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		var nodes []plugin.HypotheticalNode
		for i := range 20 { // more than there is room for at first
			row, _ := c.Snapshot.Row(fmt.Sprint("n", i))
			nodes = append(nodes, d.WhatIf.Node(row))
		}
		for i, node := range nodes {
			victim := on(fmt.Sprint("n", i), 0)
			if i == 7 { // one is nominated to it, and counts
				is(node, "3 pods")
			} else {
				is(node, "2 pods")
			}
			node.Remove(victim)
			switch i {
			case 7: // where a pod is nominated
				is(node, "2 pods")
				node.Remove(on("n7", 1))
				is(node, "")
			default:
				is(node, "")
				node.Add(victim)
				node.Remove(placedPod("elsewhere", "n1", 0)) // is not there
				is(node, "2 pods")
			}
		}
		if got := d.WhatIf.Node(0).Judge().Message(); got != "2 pods" {
			t.Errorf("a new node: %q", got)
		}
	}
	counting := &counter{info: plugin.Info{Name: "Counter"}, t: t}
	trying := &tryer{info: plugin.Info{Name: "Tryer"}, run: judge}
	w := newWorld(t, &scenario.Log{})
	w.declare("Rest", scenario.MustParse("sort= bind="))
	for point, p := range map[abi.Point]plugin.Plugin{abi.PreFilter: counting, abi.Filter: counting, abi.PostFilter: trying} {
		w.config.Points[point] = append(w.config.Points[point], pipeline.Entry{Plugin: p})
	}
	run := w.get().NewRun(nil)
	for range 2 {
		run.Begin(plugin.Cycle{
			Context: context.Background(), Snapshot: snap, Pod: placedPod("new", "", 1), State: &state.CycleState{},
			Nominations: nominations{"n7": {placedPod("promised", "", 5)}, "n8": {placedPod("lower", "", 0)}},
		})
		if _, _, status := run.PreFilter(); !status.Success() {
			t.Fatal(status.Message())
		}
		rows := run.Rows(snap.Len())
		if feasible, _, status := run.Filter(rows, 0, len(rows)); len(feasible) > 0 || !status.Success() {
			t.Fatalf("%v fit, %v", feasible, status.AllReasons())
		}
		if status := run.PostFilter(nil, plugin.Debt{}).Status; !status.Is(abi.Unschedulable) {
			t.Fatal(status.Message())
		}
		run.Begin(plugin.Cycle{Context: context.Background(), Snapshot: snap, Pod: placedPod("next", "", 0), State: &state.CycleState{}})
		if snap.Len() != 20 || len(snap.Nodes.Pods.Row(0)) != 2 {
			t.Error("the snapshot has changed")
		}
	}
	if runs != 2 {
		t.Errorf("%d runs", runs)
	}
}
