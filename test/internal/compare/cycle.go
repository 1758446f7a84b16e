package compare

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// cycle compares the points of one scheduling cycle.
func (r *run) cycle(q *scenario.Query) {
	a, b := r.newCycle(), r.newCycle()
	rows, skip, ok := r.preFilter(a, b)
	if !ok {
		return
	}
	fits := rows
	if !skip {
		fits = r.filter(a, b, rows)
		r.changed(a, b, q.WhatIf)
	}
	feasible := fits
	if q.Feasible != nil {
		feasible = feasible[:0:0]
		for _, name := range q.Feasible {
			if row, ok := r.world.Snapshot.Row(name); ok {
				feasible = append(feasible, row)
			}
		}
		slices.Sort(feasible)
	}
	if len(feasible) > 0 {
		r.score(a, b, feasible)
	}
	if len(fits) > 0 {
		r.placement(a, b, fits[0])
	}
}

// preFilter returns the rows that are filtered.
func (r *run) preFilter(a, b *plugin.Cycle) (rows []uint32, skip, ok bool) {
	rows = make([]uint32, r.world.Snapshot.Len())
	for i := range rows {
		rows[i] = uint32(i)
	}
	ours, has := r.ours.(plugin.PreFilter)
	theirs := r.theirs
	if !slices.Contains(r.theirs.Points(), abi.PreFilter) {
		return rows, false, true
	}
	if !has {
		return nil, false, false // that it has not, points reports
	}
	set, x := ours.PreFilter(a)
	wantSet, y := theirs.PreFilter(b)
	r.counts.PreFilters++
	if !r.status("PreFilter", x, y) {
		return nil, false, false
	}
	switch y.CodeOf() {
	case abi.Skip:
		r.counts.Skips++
		return rows, true, true
	case abi.Success:
	default:
		r.counts.Rejected++
		r.counts.See(y.CodeOf(), y.AllReasons())
		return nil, false, false
	}
	if (set == nil) != (wantSet == nil) || !slices.Equal(set, wantSet) {
		r.differ("PreFilter nodes", r.names(set), r.names(wantSet))
		return nil, false, false
	}
	if set != nil {
		r.counts.NodeSets++
		rows = set
	}
	return rows, false, true
}

func (r *run) names(rows []uint32) string {
	if rows == nil {
		return "all"
	}
	out := []string{}
	for _, row := range rows {
		out = append(out, r.world.Snapshot.Name(row))
	}
	return fmt.Sprint(out)
}

// filter compares the verdicts on rows and returns the feasible ones.
func (r *run) filter(a, b *plugin.Cycle, rows []uint32) (feasible []uint32) {
	ours, ok := r.ours.(plugin.Filter)
	theirs := r.theirs
	if !ok || !slices.Contains(r.theirs.Points(), abi.Filter) || len(rows) == 0 {
		return rows
	}
	var x, y plugin.Verdicts
	x.Reset(len(rows))
	y.Reset(len(rows))
	ours.Filter(a, rows, &x)
	theirs.Filter(b, rows, &y)
	for i, row := range rows {
		r.node = r.world.Snapshot.Name(row)
		r.counts.Verdicts++
		r.counts.See(y.Codes[i], y.Texts(i))
		r.status("Filter", verdict(&x, i), verdict(&y, i))
		if y.Codes[i] == abi.Success {
			feasible = append(feasible, row)
		}
	}
	r.node = ""
	return feasible
}

func verdict(v *plugin.Verdicts, i int) *plugin.Status {
	if v.Codes[i] == abi.Success {
		return nil
	}
	return plugin.NewStatus(v.Codes[i], v.Texts(i)...)
}

// changed compares the verdicts on a hypothetical node.
func (r *run) changed(a, b *plugin.Cycle, w *scenario.WhatIf) {
	if w == nil {
		return
	}
	row, ok := r.world.Snapshot.Row(w.Node)
	if !ok || !slices.Contains(r.theirs.Points(), abi.Filter) {
		return
	}
	r.node, r.whatIf = w.Node+" changed", w
	defer func() { r.node, r.whatIf = "", nil }()
	x, xs := r.hypothetical(r.ours, a, row, w)
	y, ys := r.hypothetical(r.theirs, b, row, w)
	r.world.Snapshot.DropOverlays()
	r.counts.WhatIfs++
	if r.status("AddPod or RemovePod", xs, ys) && ys.Success() {
		r.counts.See(y.CodeOf(), y.AllReasons())
		r.status("Filter of a changed node", x, y)
	}
}

// hypothetical returns the verdict on a row after pods were removed and added.
func (r *run) hypothetical(p plugin.Plugin, c *plugin.Cycle, row uint32, w *scenario.WhatIf) (filtered, told *plugin.Status) {
	s := r.world.Snapshot
	with := *c
	with.State = c.State.Clone()
	overlay := s.Overlay(row)
	extensions, _ := p.(plugin.PreFilterExtensions)
	for _, ref := range w.Remove {
		pod := r.world.Pod(ref)
		if pod == nil || !s.RemovePod(overlay, pod.UID) || extensions == nil {
			continue
		}
		if told = extensions.RemovePod(&with, overlay, pod); !told.Success() {
			return nil, told
		}
	}
	for _, object := range w.Add {
		pod := state.NewPod(object).On(w.Node, state.Patch{})
		s.AddPod(overlay, pod)
		if extensions == nil {
			continue
		}
		if told = extensions.AddPod(&with, overlay, pod); !told.Success() {
			return nil, told
		}
	}
	filter, ok := p.(plugin.Filter)
	if !ok {
		return nil, nil
	}
	var v plugin.Verdicts
	v.Reset(1)
	filter.Filter(&with, []uint32{overlay}, &v)
	return verdict(&v, 0), nil
}

// score compares raw and normalized scores of rows.
func (r *run) score(a, b *plugin.Cycle, rows []uint32) {
	points := r.theirs.Points()
	if slices.Contains(points, abi.PreScore) {
		ours, ok := r.ours.(plugin.PreScore)
		if !ok {
			return
		}
		x, y := ours.PreScore(a, rows), r.theirs.PreScore(b, rows)
		r.counts.PreScores++
		if !r.status("PreScore", x, y) || !y.Success() {
			if y.Is(abi.Skip) {
				r.counts.Skips++
			}
			return
		}
	}
	ours, ok := r.ours.(plugin.Score)
	if !ok || !slices.Contains(points, abi.Score) {
		return
	}
	x, y := make([]int64, len(rows)), make([]int64, len(rows))
	if !r.status("Score", ours.Score(a, rows, x), r.theirs.Score(b, rows, y)) {
		return
	}
	r.scores("Score", rows, x, y)
	var status *plugin.Status
	if normalize, ok := r.ours.(plugin.Normalize); ok {
		status = normalize.Normalize(a, rows, x)
	}
	if r.status("NormalizeScore", status, r.theirs.Normalize(b, rows, y)) {
		r.scores("NormalizeScore", rows, x, y)
	}
}

func (r *run) scores(what string, rows []uint32, ours, theirs []int64) {
	for i, row := range rows {
		r.node = r.world.Snapshot.Name(row)
		r.counts.score(what, theirs[i])
		same(r, what, ours[i], theirs[i])
	}
	r.node = ""
}
