package pipeline

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Broken is an answer of a plugin of scope node that was another one when it was asked
// again, although nothing that it declares to read had changed.
type Broken struct {
	Plugin *plugin.Info
	Pod    *state.Pod
	Node   string
	Point  abi.Point
}

// keep makes a run keep answers in a store; nil keeps none.
func (r *Run) keep(store *equivalence.Store) {
	plugins := make([]plugin.Plugin, len(r.p.infos))
	for _, s := range r.p.points.filter {
		plugins[s.index] = s.plugin
	}
	for _, s := range r.p.points.score {
		plugins[s.index] = s.plugin
	}
	r.caches = equivalence.NewCaches(store, plugins, func(index int, point abi.Point, row uint32) {
		if report := r.p.broken; report != nil {
			report(Broken{Plugin: r.p.infos[index], Pod: r.Cycle.Pod, Node: r.Cycle.Snapshot.Name(row), Point: point})
		}
	})
	r.classes = newClasses(store)
}

// Drop forgets the answers of a run that is not used any more.
func (r *Run) Drop() {
	r.classes.drop()
	r.caches.Drop()
}

// Inherit drops another run, which is not used any more, but for the answers of plugins that this
// one has too.
func (r *Run) Inherit(from *Run) {
	r.caches.Inherit(&from.caches)
	from.Drop()
}

// DropAnswers forgets all answers, as if no cycle had run.
func (r *Run) DropAnswers() {
	r.caches.Forget()
	r.classes.forget()
}

// keepAnswers keeps the answers that workers left.
func (r *Run) keepAnswers() {
	for i := range r.workers {
		r.workers[i].calls.Keep()
	}
}

// judge has a filter judge the rows of which no answer is kept, and returns how many these were.
func (r *Run) judge(c *plugin.Cycle, w *worker, s stage[plugin.Filter], rows []uint32, v *plugin.Verdicts) (asked int) {
	return r.caches.Filter(&w.calls, s.index, rows, v, func(rows []uint32, v *plugin.Verdicts) bool {
		w.turn.wait(c, s.plugin, abi.Filter)
		return r.p.filter(c, s, rows, v)
	})
}

// scoreRows has a plugin score the rows of which no score is kept, and returns how many these were.
func (r *Run) scoreRows(w *worker, s stage[plugin.Score], rows []uint32, out []int64) (asked int, status *plugin.Status) {
	return r.caches.Score(&w.calls, s.index, rows, out, func(rows []uint32, out []int64) *plugin.Status {
		w.turn.wait(&r.Cycle, s.plugin, abi.Score)
		return r.p.ask(s.info, abi.Score, func() *plugin.Status { return s.plugin.Score(&r.Cycle, rows, out) })
	})
}

// measured counts a call about some of the rows, whose other answers were kept.
func (w *worker) measured(index int, point abi.Point, rows, asked int, lowest abi.Code, watch clock.Stopwatch) {
	if asked > 0 {
		w.timings.add(index, point, asked, lowest, watch.Elapsed())
	}
	if reused := rows - asked; reused > 0 {
		w.timings.reuse(index, point, reused, lowest)
	}
}
