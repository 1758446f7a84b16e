package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/report"
)

// fewTimings is the timings of a binding, of which there may be thousands at once: it has
// room for the plugins that were called only.
type fewTimings struct {
	counters []fewCounter
	points   []report.PointTiming
}

type fewCounter struct {
	plugin int
	point  abi.Point
	counter
}

// add is timings.add for points without rows.
func (t *fewTimings) add(plugin int, point abi.Point, code abi.Code, faults int, took time.Duration) {
	at := slices.IndexFunc(t.counters, func(c fewCounter) bool { return c.plugin == plugin && c.point == point })
	if at < 0 {
		at = len(t.counters)
		t.counters = append(t.counters, fewCounter{plugin: plugin, point: point})
	}
	c := &t.counters[at]
	c.called(code, took)
	c.faults += int64(faults)
}

// ran is a run of all plugins of a point.
func (t *fewTimings) ran(point abi.Point, code abi.Code, watch clock.Stopwatch) {
	t.points = append(t.points, report.PointTiming{Point: point, Code: code, Duration: watch.Elapsed()})
}

// renumber has the counts be of the same plugins in another pipeline, which has all of them.
func (t *fewTimings) renumber(from, to *Pipeline) {
	for i := range t.counters {
		c := &t.counters[i]
		c.plugin = to.index[from.infos[c.plugin].Name]
	}
}

// take appends an entry for each plugin and point that was called, in the order
// of timings.take, and resets the counts.
func (t *fewTimings) take(p *Pipeline, out []report.Timing) []report.Timing {
	slices.SortFunc(t.counters, func(a, b fewCounter) int {
		return cmp.Or(cmp.Compare(a.plugin, b.plugin), cmp.Compare(a.point, b.point))
	})
	for _, c := range t.counters {
		info := p.infos[c.plugin]
		out = append(out, report.Timing{
			Plugin: info.Name, Module: info.Module, Digest: info.Digest, Point: c.point, Code: c.code,
			Calls: c.calls, Faults: c.faults, Duration: c.duration,
		})
	}
	t.counters = t.counters[:0]
	return out
}
