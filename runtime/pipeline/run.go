package pipeline

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Run is one scheduling cycle through a pipeline. Its buffers are reused from
// cycle to cycle; it belongs to one goroutine.
type Run struct {
	// Cycle is the input that plugins see.
	Cycle plugin.Cycle
	// Outcome is the verdicts of Filter.
	Outcome Outcome
	// Scores is the result of Score.
	Scores Scores

	p                     *Pipeline
	own                   *view  // of the cycle's pod
	skipFilter, skipScore []bool // by plugin index
	timings               timings
	points                []report.PointTiming
	workers               []worker
	blocks                [][]uint32
	turns                 turns
	tables                [][]verdict // verdict tables of blocks
	numbers               []uint32    // of a block's verdicts in the Outcome
	all                   []uint32    // 0, 1, 2 …
	standing              []uint32
	feasible              []uint32
	nominated             []nominated
	closed                []*hypothetical  // to be used again
	starts                []int            // of blocks among the rows to score
	answers               []*plugin.Status // of blocks

	caches  equivalence.Caches
	classes classes
	// heldOnWord tells that an attached plugin rejected the pod at PreFilter.
	heldOnWord bool
	// subset is the rows that PreFilter left; nil for all. rejected tells that the pod was rejected there, other
	// than by attached plugins that let the others run.
	subset   []uint32
	rejected bool
	judged   int // how many of the filters have judged all rows
}

// worker is what one worker needs to evaluate a block.
type worker struct {
	rows     []uint32
	verdicts plugin.Verdicts
	table    verdictTable
	numbers  []numbered // by reason of the current call
	timings  timings
	calls    equivalence.Calls
	turn     turn
}

// nominated is a row with the nominated pods that count for this cycle's pod
// added, as an overlay row.
type nominated struct {
	row, overlay uint32
	pods         []*state.Pod
}

// NewRun returns a run for cycles through p. It keeps answers in a store, or none if
// that is nil; Drop forgets them.
func (p *Pipeline) NewRun(store *equivalence.Store) *Run {
	r := &Run{
		p:          p,
		own:        p.common,
		skipFilter: make([]bool, len(p.infos)),
		skipScore:  make([]bool, len(p.infos)),
		timings:    newTimings(len(p.infos)),
		workers:    make([]worker, p.workers.Len()),
	}
	for i := range r.workers {
		r.workers[i].timings = newTimings(len(p.infos))
	}
	r.keep(store)
	return r
}

// Begin starts a cycle: it forgets the last one with its overlay rows, and makes
// those for nominated pods, before any plugin resolves strings of the snapshot.
func (r *Run) Begin(c plugin.Cycle) {
	last := r.own.plugins
	r.Cycle, r.judged, r.heldOnWord, r.subset, r.rejected = c, 0, false, nil, false
	r.Cycle.Resize = r.p.Resizes(c.Pod)
	r.Cycle.Unenforced = ^(r.p.enforced | r.p.config.AllowUnenforced)
	r.caches.Begin(&r.Cycle, last)
	c.Snapshot.DropOverlays()
	r.own = r.p.viewOf(c.Pod)
	for _, i := range r.own.plugins {
		r.skipFilter[i], r.skipScore[i] = false, false
	}
	r.Scores.reset()
	r.nominate()
	if len(r.own.postFilter) > 0 {
		c.Snapshot.ReserveOverlays(hypotheticalRows)
	}
	r.Outcome.reset(len(c.Snapshot.Nodes.Node))
}

// hypotheticalRows is how many overlay rows a hypothetical node needs: its own, and one with
// nominated pods. They are made ready before plugins look at columns.
const hypotheticalRows = 2

// nominate makes an overlay row for each node with nominated pods of equal or
// higher priority: the pod must leave them their place.
func (r *Run) nominate() {
	r.nominated = r.nominated[:0]
	c := &r.Cycle
	if c.Nominations == nil || c.Nominations.Len() == 0 {
		return
	}
	for node, pods := range c.Nominations.Nodes {
		row, ok := c.Snapshot.Row(node)
		if !ok {
			continue
		}
		var add []*state.Pod
		for _, pod := range pods {
			if pod.Priority >= c.Pod.Priority && pod.UID != c.Pod.UID {
				add = append(add, pod)
			}
		}
		if len(add) == 0 {
			continue
		}
		overlay := c.Snapshot.Overlay(row)
		for _, pod := range add {
			c.Snapshot.AddPod(overlay, pod)
		}
		r.nominated = append(r.nominated, nominated{row: row, overlay: overlay, pods: add})
	}
	slices.SortFunc(r.nominated, func(a, b nominated) int { return int(a.row) - int(b.row) })
}

// Rows returns 0 … n-1, to be read only.
func (r *Run) Rows(n int) []uint32 {
	for len(r.all) < n {
		r.all = append(r.all, uint32(len(r.all)))
	}
	return r.all[:n]
}

// ran is a run of all plugins of a point.
func (r *Run) ran(point abi.Point, status *plugin.Status, watch clock.Stopwatch) {
	r.points = append(r.points, report.PointTiming{Point: point, Code: status.CodeOf(), Duration: watch.Elapsed()})
}

// Points appends the points that were run since the last call.
func (r *Run) Points(out []report.PointTiming) []report.PointTiming {
	out = append(out, r.points...)
	r.points = r.points[:0]
	return out
}

// Timings appends what was measured of plugins since the last call.
func (r *Run) Timings(out []report.Timing) []report.Timing {
	for i := range r.workers {
		r.timings.drain(&r.workers[i].timings)
	}
	points := inCycle()
	r.p.faults(&r.timings, points[:])
	return r.timings.take(r.p, out)
}
