package pipeline

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// whatIf is a run as plugins see it that try hypothetical nodes.
type whatIf struct {
	run   *Run
	nodes int // hypothetical ones so far, as a measure of work
}

var _ plugin.WhatIf = (*whatIf)(nil)

// Node implements plugin.WhatIf.
func (w *whatIf) Node(row uint32) plugin.HypotheticalNode {
	w.nodes++
	return w.run.hypothetical(&w.run.Cycle, row, row)
}

// hypothetical is an overlay row with a copy of the plugins' state. After Close it is used
// again for another row.
type hypothetical struct {
	run   *Run
	cycle plugin.Cycle
	base  uint32 // the row of the snapshot that is tried
	row   uint32
	only  [1]uint32 // row, as a list
	taken []taken
}

// taken is a pod that was removed and may come back to its slot.
type taken struct {
	pod  *state.Pod
	slot uint32
}

// hypothetical returns a copy of a row, which is base or an overlay of it.
func (r *Run) hypothetical(c *plugin.Cycle, base, row uint32) *hypothetical {
	var t *hypothetical
	if n := len(r.closed); n > 0 {
		t, r.closed = r.closed[n-1], r.closed[:n-1]
	} else {
		t = &hypothetical{run: r}
	}
	t.cycle, t.base, t.row = *c, base, c.Snapshot.Overlay(row)
	t.cycle.State = c.State.Clone()
	r.Outcome.resize(len(c.Snapshot.Nodes.Node))
	return t
}

// Row implements plugin.HypotheticalNode.
func (t *hypothetical) Row() uint32 { return t.row }

// Close implements plugin.HypotheticalNode.
func (t *hypothetical) Close() {
	t.cycle.Snapshot.Release(t.row)
	clear(t.taken)
	t.cycle, t.taken = plugin.Cycle{}, t.taken[:0]
	t.run.closed = append(t.run.closed, t)
}

// Remove implements plugin.HypotheticalNode. A pod that is not on the node changes nothing.
func (t *hypothetical) Remove(pod *state.Pod) *plugin.Status {
	slot, ok := t.cycle.Snapshot.TakePod(t.row, pod.UID)
	if !ok {
		return nil
	}
	t.taken = append(t.taken, taken{pod: pod, slot: slot})
	return t.tell(abi.RemovePod, pod, plugin.PreFilterExtensions.RemovePod)
}

// Add implements plugin.HypotheticalNode.
func (t *hypothetical) Add(pod *state.Pod) *plugin.Status {
	if i := slices.IndexFunc(t.taken, func(p taken) bool { return p.pod == pod }); i >= 0 {
		t.cycle.Snapshot.PutBack(t.row, t.taken[i].slot)
		t.taken = slices.Delete(t.taken, i, i+1)
	} else {
		t.cycle.Snapshot.AddPod(t.row, pod)
	}
	return t.told(pod)
}

// told tells the plugins that a pod was added to the row.
func (t *hypothetical) told(pod *state.Pod) *plugin.Status {
	return t.tell(abi.AddPod, pod, plugin.PreFilterExtensions.AddPod)
}

func (t *hypothetical) tell(
	point abi.Point, pod *state.Pod, call func(plugin.PreFilterExtensions, *plugin.Cycle, uint32, *state.Pod) *plugin.Status,
) *plugin.Status {
	for _, s := range t.run.own.extensions {
		if t.run.skipFilter[s.index] {
			continue
		}
		watch := clock.Start()
		status := t.run.p.ask(s.info, point, func() *plugin.Status { return call(s.plugin, &t.cycle, t.row, pod) })
		t.run.timings.add(s.index, point, 1, status.CodeOf(), watch.Elapsed())
		if !status.Success() {
			return failed(point.String(), s.info.Name, status)
		}
	}
	return nil
}

// Judge implements plugin.HypotheticalNode.
func (t *hypothetical) Judge() *plugin.Status {
	if pods := t.run.nominatedTo(t.base); len(pods) > 0 {
		with := t.run.hypothetical(&t.cycle, t.base, t.row)
		defer with.Close()
		for _, pod := range pods {
			if status := with.Add(pod); !status.Success() {
				return status
			}
		}
		if status := with.judge(); !status.Success() {
			return status
		}
	}
	return t.judge()
}

// nominatedTo returns the nominated pods that count on a row.
func (r *Run) nominatedTo(row uint32) []*state.Pod {
	i, ok := slices.BinarySearchFunc(r.nominated, row, func(n nominated, row uint32) int { return int(n.row) - int(row) })
	if !ok {
		return nil
	}
	return r.nominated[i].pods
}

// judge runs the filter chain on the row as it is. The outcome keeps nothing of it: a cycle
// may judge hypothetical nodes a hundred times for each node of the cluster, and each time for
// another reason.
func (t *hypothetical) judge() *plugin.Status {
	o := &t.run.Outcome
	known := len(o.table.verdicts)
	defer func() {
		o.forget(t.row)
		o.table.keep(known)
	}()
	t.only = [1]uint32{t.row}
	t.run.chain(&t.cycle, t.only[:])
	if status := t.run.firstError(t.only[:]); status != nil {
		return status
	}
	if o.Codes[t.row] == abi.Success {
		return nil
	}
	by, _ := o.Group(t.row)
	return plugin.NewStatus(o.Codes[t.row], o.Texts(t.row)...).By(t.run.p.infos[by].Name)
}
