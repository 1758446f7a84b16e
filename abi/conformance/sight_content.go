package conformance

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/conformance/internal/view"
	"github.com/berth-scheduler/berth/abi/wire"
)

// content compares the tables with the cluster.
func (s *sight) content(call *wire.CallView, snapshot *wire.Snapshot, reader *view.Reader) {
	got, err := reader.Snapshot()
	if err != nil {
		s.problems = append(s.problems, err.Error())
		return
	}
	point := abi.Point(call.Point)
	want := view.Expect(s.reads, s.cluster)
	if point.Aux() && len(got.Namespaces) > 0 {
		s.wrong("ABI-2.11", "an aux instance has %d namespaces", len(got.Namespaces))
	}
	switch {
	case point == abi.Hint:
		s.eventNodes(call, snapshot.Table(abi.TableNodes), reader)
		return
	case point.Aux():
		want = s.aux(point)
		want.HasNamespaces, want.Namespaces, got.Namespaces = got.HasNamespaces, nil, nil
	case s.man.Sharded() && point == abi.PreFilter:
		if len(got.Nodes) > 0 {
			s.wrong("ABI-5.3", "pre_filter of a guest of scope node sees %d nodes", len(got.Nodes))
		}
		// Namespaces are optional here, because no answer may depend on them (ABI-4.15).
		want = &view.Snapshot{HasNamespaces: got.HasNamespaces}
		got.Namespaces = nil
	case s.man.Sharded():
		want.Nodes = slices.DeleteFunc(want.Nodes, func(c view.Cells) bool {
			return !slices.ContainsFunc(got.Nodes, func(other view.Cells) bool {
				return other[view.Key(abi.NodeName, 0)] == c[view.Key(abi.NodeName, 0)]
			})
		})
	}
	for _, line := range view.DiffSnapshots(want, got) {
		s.wrong("ABI-4, ABI-2.6", "%s", line)
	}
	if id := snapshot.Table(abi.TablePods); id == nil && s.reads.HasNode("pods") {
		s.wrong("ABI-4", "there is no pods table")
	}
}

// aux returns what the nodes table contains in a call of an aux instance: from reserve on the
// chosen node without the pod itself (ABI-5.15).
func (s *sight) aux(point abi.Point) *view.Snapshot {
	out := &view.Snapshot{}
	if point >= abi.Reserve {
		without := *s.cluster
		without.Pods = slices.DeleteFunc(slices.Clone(s.cluster.Pods), func(p cluster.Pod) bool {
			return s.pod != nil && p.Metadata.UID == s.pod.Metadata.UID
		})
		out.Nodes = append(out.Nodes, view.ExpectNode(s.reads, &without, without.Node(s.call.Node)))
	}
	return out
}

// overlay checks the row of a what-if: the node with its pods at that moment.
func (s *sight) overlay(d *dump, reader *view.Reader, nodes *wire.TableView) {
	got, err := reader.Row(nodes, d.lo)
	if err != nil {
		s.problems = append(s.problems, err.Error())
		return
	}
	if abi.Point(d.point) != abi.Filter {
		return // pods are added one by one; filter sees all of them
	}
	after := s.call.WhatIf.applied(s.cluster, s.call.Nodes[0])
	for _, line := range view.Diff("the overlay row", view.ExpectNode(s.reads, after, after.Node(s.call.Nodes[0])), got) {
		s.wrong("ABI-5.13", "%s", line)
	}
}

// applied returns the cluster with the pods of a what-if added to and removed from a node.
func (w *WhatIf) applied(c *cluster.Cluster, node string) *cluster.Cluster {
	out := *c
	out.Pods = slices.DeleteFunc(slices.Clone(c.Pods), func(p cluster.Pod) bool { return slices.Contains(w.Remove, p.Metadata.UID) })
	for _, p := range w.Add {
		p.Spec.NodeName = node
		out.Pods = append(out.Pods, p)
	}
	return &out
}

// pods checks the pod record, the pod list, the queue entries and the event.
func (s *sight) pods(d *dump, call *wire.CallView, reader *view.Reader) {
	point := abi.Point(call.Point)
	compare := func(what string, record []byte, p *cluster.Pod, node string) {
		got, err := reader.Pod(record)
		if err != nil {
			s.problems = append(s.problems, what+": "+err.Error())
			return
		}
		for _, line := range view.Diff(what, view.ExpectPod(s.reads, view.At(point, s.cluster), p, node), got) {
			s.wrong("ABI-6.2", "%s", line)
		}
	}
	if point > abi.Hint && s.pod != nil {
		node := ""
		if point >= abi.Reserve {
			node = s.call.Node
		}
		if uint64(call.Pod)+uint64(call.PodSize) <= uint64(len(d.memory)) {
			compare("the pod record", d.memory[call.Pod:call.Pod+call.PodSize], s.pod, node)
		}
	}
	if point <= abi.Hint {
		s.list(call, compare)
	}
	if s.call.WhatIf != nil && (point == abi.AddPod || point == abi.RemovePod) {
		s.changed(point, call, compare)
	}
	if e := call.Event; e != nil && s.call.Event != nil {
		s.event(e, compare)
	}
}

type comparePod func(what string, record []byte, p *cluster.Pod, node string)

// list compares the pod list with the pods of the call, in order.
func (s *sight) list(call *wire.CallView, compare comparePod) {
	if len(call.Pods) != len(s.call.Pods) {
		s.wrong("ABI-3.1", "%d pods in the list, not %d", len(call.Pods), len(s.call.Pods))
		return
	}
	for i := range call.Pods {
		compare("pod "+s.call.Pods[i].Metadata.Name, call.Pods[i], &s.call.Pods[i], "")
		if call.Point == uint32(abi.QueueSort) && call.Queue[i] != s.call.Queue[i] {
			s.wrong("ABI-3.11", "the queue entry of pod %s is %+v, not %+v", s.call.Pods[i].Metadata.Name, call.Queue[i], s.call.Queue[i])
		}
	}
}

// changed checks the only pod of add_pod and remove_pod (ABI-5.13).
func (s *sight) changed(point abi.Point, call *wire.CallView, compare comparePod) {
	if len(call.Pods) != 1 {
		s.wrong("ABI-5.13", "%s has %d pods in its list", point, len(call.Pods))
		return
	}
	candidates := s.call.WhatIf.Add
	if point == abi.RemovePod {
		candidates = slices.DeleteFunc(slices.Clone(s.cluster.Pods), func(p cluster.Pod) bool { return !slices.Contains(s.call.WhatIf.Remove, p.Metadata.UID) })
	}
	if len(candidates) == 1 {
		compare("the pod of "+point.String(), call.Pods[0], &candidates[0], "")
	}
}

// event checks the event record (ABI-3.10).
func (s *sight) event(got *wire.EventView, compare comparePod) {
	want := s.call.Event
	if got.Resource != want.Resource || got.Actions != want.Actions {
		s.wrong("ABI-3.10", "the event is resource %d, actions %#x, not %d and %#x", got.Resource, got.Actions, want.Resource, want.Actions)
	}
	if got.Namespace != want.Namespace || got.Name != want.Name {
		s.wrong("ABI-3.10", "the event names %q, %q, not %q, %q", got.Namespace, got.Name, want.Namespace, want.Name)
	}
	for _, pod := range []struct {
		what   string
		want   *cluster.Pod
		record []byte
	}{{"the old pod", want.OldPod, got.OldPod}, {"the new pod", want.NewPod, got.NewPod}} {
		switch {
		case (pod.want == nil) != (pod.record == nil):
			s.wrong("ABI-3.10", "%s of the event is present: %t, expected %t", pod.what, pod.record != nil, pod.want != nil)
		case pod.want != nil:
			compare(pod.what, pod.record, pod.want, "")
		}
	}
}

// eventNodes checks the rows of an event's nodes, which have no pods (ABI-5.12).
func (s *sight) eventNodes(call *wire.CallView, nodes *wire.TableView, reader *view.Reader) {
	if call.Event == nil {
		s.wrong("ABI-3.10", "there is no event record")
		return
	}
	left := nodes.Rows
	for _, n := range []struct {
		what string
		want *cluster.Node
		row  uint32
	}{{"the old node", s.call.Event.OldNode, call.Event.OldNode}, {"the new node", s.call.Event.NewNode, call.Event.NewNode}} {
		switch {
		case n.want == nil && n.row != abi.EventNoNode:
			s.wrong("ABI-3.10", "%s is row %d, but the event has no such node", n.what, n.row)
		case n.want == nil:
		case n.row >= nodes.Rows:
			s.wrong("ABI-5.12", "%s is row %#x of %d", n.what, n.row, nodes.Rows)
		default:
			left--
			got, err := reader.Row(nodes, n.row)
			if err != nil {
				s.problems = append(s.problems, err.Error())
				continue
			}
			alone := &cluster.Cluster{Nodes: []cluster.Node{*n.want}}
			for _, line := range view.Diff(n.what, view.ExpectNode(s.reads, alone, n.want), got) {
				s.wrong("ABI-5.12", "%s", line)
			}
		}
	}
	if left != 0 && len(s.problems) == 0 {
		s.wrong("ABI-2.11", "the nodes table has %d rows more than the event has nodes", left)
	}
}

// slots checks that slots without a row are zero (ABI-4.10, ABI-4.11).
func (s *sight) slots(snapshot *wire.Snapshot) {
	pods, nodes := snapshot.Table(abi.TablePods), snapshot.Table(abi.TableNodes)
	if pods == nil || nodes == nil {
		return
	}
	used := map[uint32]bool{}
	for row := range nodes.Capacity + nodes.Overlays {
		if !nodes.HasRow(row) {
			continue
		}
		for _, list := range []abi.ColumnID{abi.NodePods, abi.NodeNominated} {
			data, _, err := nodes.List(list, 0, row)
			for ; err == nil && len(data) >= 4; data = data[4:] {
				used[binary.LittleEndian.Uint32(data)] = true
			}
		}
	}
	for slot := range pods.Rows {
		if used[slot] {
			continue
		}
		for i := range pods.Columns {
			c := &pods.Columns[i]
			if c.ID >= abi.ArenaOf {
				continue
			}
			e, err := c.Element(slot)
			if err != nil {
				s.problems = append(s.problems, err.Error())
				return
			}
			if c.Type == abi.TypeSpan {
				e = e[4:] // a span of length 0 may have any start (ABI-4.8)
			}
			if len(bytes.Trim(e, "\x00")) > 0 {
				s.wrong("ABI-4.11", "slot %d has no pod that the plugin may see, but column %d contains % x", slot, c.ID, e)
				return
			}
		}
	}
}
