package pipeline

import (
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
)

// What HTTP extenders decide comes to a cycle after its plugins. It is recorded
// under the name of a plugin of the profile that stands for them elsewhere.

// Reject gives a row that has passed the filters the verdict of a plugin that is
// not among them.
func (r *Run) Reject(row uint32, by string, code abi.Code, texts ...string) {
	o := &r.Outcome
	o.Codes[row] = code
	o.numbers[row] = o.table.number(verdict{plugin: uint8(r.named(by)), code: code, texts: texts})
}

// Forget takes the verdict of a row back, so that Filter judges it anew.
func (r *Run) Forget(row uint32) { r.Outcome.forget(row) }

// AddScores adds scores by position to the totals of Score, under any name.
func (r *Run) AddScores(name string, weight int64, scores []int64) {
	out := &r.Scores
	raw := out.buffer(2*len(out.used), len(scores))
	copy(raw, scores)
	out.used = append(out.used, scored{name: name, weight: weight, raw: raw, normalized: raw})
	for i, score := range raw {
		out.Totals[i] += score * weight
	}
}

// Measure counts a call that is none of a plugin of that point.
func (r *Run) Measure(by string, point abi.Point, rows int, watch clock.Stopwatch) {
	r.timings.add(r.named(by), point, rows, abi.Success, watch.Elapsed())
}

func (r *Run) named(name string) int {
	i, ok := r.p.index[name]
	if !ok {
		panic(fmt.Sprintf("BUG: %s decides in profile %q and is no plugin of it", name, r.p.config.Profile))
	}
	return i
}
