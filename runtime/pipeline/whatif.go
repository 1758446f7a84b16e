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
	run    *Run
	trials int // so far, as a measure of work
}

var _ plugin.WhatIf = (*whatIf)(nil)

// Trial implements plugin.WhatIf.
func (w *whatIf) Trial(row uint32) plugin.Trial {
	w.trials++
	return w.run.trial(&w.run.Cycle, row, row)
}

// trial is an overlay row with a copy of the plugins' state. After Close it serves
// for another row.
type trial struct {
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

// trial tries a row, which is base or an overlay of it.
func (r *Run) trial(c *plugin.Cycle, base, row uint32) *trial {
	var t *trial
	if n := len(r.trials); n > 0 {
		t, r.trials = r.trials[n-1], r.trials[:n-1]
	} else {
		t = &trial{run: r}
	}
	t.cycle, t.base, t.row = *c, base, c.Snapshot.Overlay(row)
	t.cycle.State = c.State.Clone()
	r.Outcome.resize(len(c.Snapshot.Nodes.Node))
	return t
}

// Row implements plugin.Trial.
func (t *trial) Row() uint32 { return t.row }

// Close implements plugin.Trial.
func (t *trial) Close() {
	t.cycle.Snapshot.Release(t.row)
	clear(t.taken)
	t.cycle, t.taken = plugin.Cycle{}, t.taken[:0]
	t.run.trials = append(t.run.trials, t)
}

// Remove implements plugin.Trial. A pod that is not on the node changes nothing.
func (t *trial) Remove(pod *state.Pod) *plugin.Status {
	slot, ok := t.cycle.Snapshot.TakePod(t.row, pod.UID)
	if !ok {
		return nil
	}
	t.taken = append(t.taken, taken{pod: pod, slot: slot})
	return t.tell(abi.RemovePod, pod, plugin.PreFilterExtensions.RemovePod)
}

// Add implements plugin.Trial.
func (t *trial) Add(pod *state.Pod) *plugin.Status {
	if i := slices.IndexFunc(t.taken, func(p taken) bool { return p.pod == pod }); i >= 0 {
		t.cycle.Snapshot.PutBack(t.row, t.taken[i].slot)
		t.taken = slices.Delete(t.taken, i, i+1)
	} else {
		t.cycle.Snapshot.AddPod(t.row, pod)
	}
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
		t.run.meter.add(s.index, point, 1, status.CodeOf(), watch.Elapsed())
		if !status.Success() {
			return failed(point.String(), s.info.Name, status)
		}
	}
	return nil
}

// Judge implements plugin.Trial.
func (t *trial) Judge() *plugin.Status {
	if pods := t.run.nominatedTo(t.base); len(pods) > 0 {
		with := t.run.trial(&t.cycle, t.base, t.row)
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

// judge runs the filter chain on the row as it is.
func (t *trial) judge() *plugin.Status {
	o := &t.run.Outcome
	o.forget(t.row)
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
