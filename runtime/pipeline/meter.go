package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/report"
)

// meter counts the work of each plugin at each point. Each worker has its own.
type meter struct{ counters []counter }

type counter struct {
	calls, rows, faults int64
	duration            time.Duration
}

func newMeter(plugins int) meter {
	return meter{counters: make([]counter, plugins*int(abi.NumPoints))}
}

// add counts one call that began with the stopwatch.
func (m *meter) add(plugin int, point abi.Point, rows int, watch clock.Stopwatch) {
	c := &m.counters[plugin*int(abi.NumPoints)+int(point)]
	c.calls++
	c.rows += int64(rows)
	c.duration += watch.Elapsed()
}

// fewMeter is the meter of a binding, of which there may be thousands at once: it has
// room for the plugins that were called only.
type fewMeter struct{ counters []fewCounter }

type fewCounter struct {
	plugin int
	point  abi.Point
	counter
}

// add is meter.add.
func (m *fewMeter) add(plugin int, point abi.Point, rows int, watch clock.Stopwatch) {
	at := slices.IndexFunc(m.counters, func(c fewCounter) bool { return c.plugin == plugin && c.point == point })
	if at < 0 {
		at = len(m.counters)
		m.counters = append(m.counters, fewCounter{plugin: plugin, point: point})
	}
	c := &m.counters[at]
	c.calls++
	c.rows += int64(rows)
	c.duration += watch.Elapsed()
}

// timings appends an entry for each plugin and point that was called, in the order
// of meter.timings, and resets the counts.
func (m *fewMeter) timings(p *Pipeline, out []report.Timing) []report.Timing {
	slices.SortFunc(m.counters, func(a, b fewCounter) int { return cmp.Or(cmp.Compare(a.plugin, b.plugin), cmp.Compare(a.point, b.point)) })
	for _, c := range m.counters {
		info := p.infos[c.plugin]
		out = append(out, report.Timing{
			Plugin: info.Name, Digest: info.Digest, Point: c.point,
			Calls: c.calls, Rows: c.rows, Faults: c.faults, Duration: c.duration,
		})
	}
	m.counters = m.counters[:0]
	return out
}

// drain moves the counts of another meter into m.
func (m *meter) drain(o *meter) {
	for i := range o.counters {
		c, d := &m.counters[i], &o.counters[i]
		if d.calls == 0 {
			continue
		}
		c.calls += d.calls
		c.rows += d.rows
		c.faults += d.faults
		c.duration += d.duration
		*d = counter{}
	}
}

// timings appends an entry for each plugin and point that was called, and
// resets the counts.
func (p *Pipeline) timings(m *meter, out []report.Timing) []report.Timing {
	for i, info := range p.infos {
		for point := range abi.NumPoints {
			c := &m.counters[i*int(abi.NumPoints)+int(point)]
			if c.calls == 0 {
				continue
			}
			out = append(out, report.Timing{
				Plugin: info.Name, Digest: info.Digest, Point: point,
				Calls: c.calls, Rows: c.rows, Faults: c.faults, Duration: c.duration,
			})
			*c = counter{}
		}
	}
	return out
}

// faulter is a plugin that can fail without having an opinion: a guest.
type faulter interface{ Faults() int64 }

// failing is such a plugin and how many of its faults were counted.
type failing struct {
	plugin  faulter
	index   int
	counted int64
}

// faults appends the faults since the last call, at the point of the plugin that
// comes first: a guest counts them over all points.
func (p *Pipeline) faults(out []report.Timing) []report.Timing {
	for i := range p.failing {
		f := &p.failing[i]
		n := f.plugin.Faults()
		if n == f.counted {
			continue
		}
		info := p.infos[f.index]
		out = append(out, report.Timing{Plugin: info.Name, Digest: info.Digest, Point: abi.PreFilter, Faults: n - f.counted})
		f.counted = n
	}
	return out
}
