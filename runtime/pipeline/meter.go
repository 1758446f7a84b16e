package pipeline

import (
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
)

// meter counts the work of each plugin at each point. Each worker has its own.
type meter struct{ counters []counter }

type counter struct {
	calls, rows, faults int64
	code                abi.Code // the lowest
	duration            time.Duration
}

// called counts one call with its answer.
func (c *counter) called(code abi.Code, took time.Duration) {
	if c.calls == 0 || code < c.code {
		c.code = code
	}
	c.calls++
	c.duration += took
}

func newMeter(plugins int) meter {
	return meter{counters: make([]counter, plugins*int(abi.NumPoints))}
}

// add counts one call.
func (m *meter) add(plugin int, point abi.Point, rows int, code abi.Code, took time.Duration) {
	c := &m.counters[plugin*int(abi.NumPoints)+int(point)]
	c.called(code, took)
	c.rows += int64(rows)
}

// drain moves the counts of another meter into m.
func (m *meter) drain(o *meter) {
	for i := range o.counters {
		c, d := &m.counters[i], &o.counters[i]
		if d.calls == 0 {
			continue
		}
		if c.calls == 0 || d.code < c.code {
			c.code = d.code
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
				Plugin: info.Name, Module: info.Module, Digest: info.Digest, Point: point, Code: c.code,
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
		out = append(out, report.Timing{Plugin: info.Name, Module: info.Module, Digest: info.Digest, Point: abi.PreFilter, Faults: n - f.counted})
		f.counted = n
	}
	return out
}
