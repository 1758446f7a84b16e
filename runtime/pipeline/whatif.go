package pipeline

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// whatIf is a run as plugins see it that try hypothetical nodes.
type whatIf Run

var _ plugin.WhatIf = (*whatIf)(nil)

// Trial implements plugin.WhatIf.
func (w *whatIf) Trial(row uint32) plugin.Trial {
	r := (*Run)(w)
	return r.trial(&r.Cycle, row)
}

// trial is an overlay row with a copy of the plugins' state.
type trial struct {
	run   *Run
	cycle plugin.Cycle
	row   uint32
}

func (r *Run) trial(c *plugin.Cycle, row uint32) *trial {
	t := &trial{run: r, cycle: *c, row: c.Snapshot.Overlay(row)}
	t.cycle.State = c.State.Clone()
	r.Outcome.resize(len(c.Snapshot.Nodes.Node))
	return t
}

// Row implements plugin.Trial.
func (t *trial) Row() uint32 { return t.row }

// Remove implements plugin.Trial. A pod that is not on the node changes nothing.
func (t *trial) Remove(pod *state.Pod) *plugin.Status {
	if !t.cycle.Snapshot.RemovePod(t.row, pod.UID) {
		return nil
	}
	return t.tell(abi.RemovePod, pod, plugin.PreFilterExtensions.RemovePod)
}

// Add implements plugin.Trial.
func (t *trial) Add(pod *state.Pod) *plugin.Status {
	t.cycle.Snapshot.AddPod(t.row, pod)
	return t.told(pod)
}

// told tells the plugins that a pod was added to the row.
func (t *trial) told(pod *state.Pod) *plugin.Status {
	return t.tell(abi.AddPod, pod, plugin.PreFilterExtensions.AddPod)
}

func (t *trial) tell(
	point abi.Point, pod *state.Pod, call func(plugin.PreFilterExtensions, *plugin.Cycle, uint32, *state.Pod) *plugin.Status,
) *plugin.Status {
	for _, s := range t.run.p.extensions {
		if t.run.skipFilter[s.index] {
			continue
		}
		watch := clock.Start()
		status := call(s.plugin, &t.cycle, t.row, pod)
		t.run.meter.add(s.index, point, 1, watch)
		if !status.Success() {
			return failed(point.String(), s.info.Name, status)
		}
	}
	return nil
}

// Judge implements plugin.Trial.
func (t *trial) Judge() *plugin.Status {
	for i := range t.run.nominated {
		n := &t.run.nominated[i]
		if t.run.nodeOf(n.row) != t.run.nodeOf(t.row) {
			continue
		}
		with := t.run.trial(&t.cycle, t.row)
		for _, pod := range n.pods {
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

// judge runs the filter chain on the row as it is.
func (t *trial) judge() *plugin.Status {
	o := &t.run.Outcome
	o.forget(t.row)
	rows := []uint32{t.row}
	t.run.chain(&t.cycle, rows)
	if status := t.run.firstError(rows); status != nil {
		return status
	}
	if o.Codes[t.row] == abi.Success {
		return nil
	}
	by, _ := o.Group(t.row)
	return plugin.NewStatus(o.Codes[t.row], o.Texts(t.row)...).By(t.run.p.infos[by].Name)
}

func (r *Run) nodeOf(row uint32) *state.Node { return r.Cycle.Snapshot.Nodes.Node[row] }
