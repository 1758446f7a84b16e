package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/report"
)

// fewMeter is the meter of a binding, of which there may be thousands at once: it has
// room for the plugins that were called only.
type fewMeter struct {
	counters []fewCounter
	points   []report.PointTiming
}

type fewCounter struct {
	plugin int
	point  abi.Point
	counter
}

// add is meter.add for points without rows.
func (m *fewMeter) add(plugin int, point abi.Point, code abi.Code, faults int, took time.Duration) {
	at := slices.IndexFunc(m.counters, func(c fewCounter) bool { return c.plugin == plugin && c.point == point })
	if at < 0 {
		at = len(m.counters)
		m.counters = append(m.counters, fewCounter{plugin: plugin, point: point})
	}
	c := &m.counters[at]
	c.called(code, took)
	c.faults += int64(faults)
}

// ran is a run of all plugins of a point.
func (m *fewMeter) ran(point abi.Point, code abi.Code, watch clock.Stopwatch) {
	m.points = append(m.points, report.PointTiming{Point: point, Code: code, Duration: watch.Elapsed()})
}

// timings appends an entry for each plugin and point that was called, in the order
// of meter.timings, and resets the counts.
func (m *fewMeter) timings(p *Pipeline, out []report.Timing) []report.Timing {
	slices.SortFunc(m.counters, func(a, b fewCounter) int {
		return cmp.Or(cmp.Compare(a.plugin, b.plugin), cmp.Compare(a.point, b.point))
	})
	for _, c := range m.counters {
		info := p.infos[c.plugin]
		out = append(out, report.Timing{
			Plugin: info.Name, Module: info.Module, Digest: info.Digest, Point: c.point, Code: c.code,
			Calls: c.calls, Faults: c.faults, Duration: c.duration,
		})
	}
	m.counters = m.counters[:0]
	return out
}
