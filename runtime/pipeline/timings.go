package pipeline

import (
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
)

// timings counts the work of each plugin at each point. Each worker has its own.
type timings struct {
	counters []counter
	used     []bool // by plugin index: something was counted since the last drain or take
	plugins  []int  // indexes of these
}

type counter struct {
	calls, rows, reused, faults int64
	code                        abi.Code // the lowest
	duration                    time.Duration
}

// called counts one call with its answer.
func (c *counter) called(code abi.Code, took time.Duration) {
	c.answered(code)
	c.calls++
	c.duration += took
}

// answered takes in an answer before it is counted, the lowest of which is kept.
func (c *counter) answered(code abi.Code) {
	if c.calls == 0 && c.reused == 0 || code < c.code {
		c.code = code
	}
}

func newTimings(plugins int) timings {
	return timings{counters: make([]counter, plugins*int(abi.NumPoints)), used: make([]bool, plugins)}
}

// of returns the counter of a plugin at a point, to count in it.
func (t *timings) of(plugin int, point abi.Point) *counter {
	if !t.used[plugin] {
		t.used[plugin], t.plugins = true, append(t.plugins, plugin)
	}
	return &t.counters[plugin*int(abi.NumPoints)+int(point)]
}

// add counts one call.
func (t *timings) add(plugin int, point abi.Point, rows int, code abi.Code, took time.Duration) {
	c := t.of(plugin, point)
	c.called(code, took)
	c.rows += int64(rows)
}

// reuse counts answers that were kept.
func (t *timings) reuse(plugin int, point abi.Point, rows int, lowest abi.Code) {
	c := t.of(plugin, point)
	c.answered(lowest)
	c.reused += int64(rows)
}

// drain moves the counts of other timings into t.
func (t *timings) drain(o *timings) {
	for _, i := range o.plugins {
		o.used[i] = false
		for point := range abi.NumPoints {
			d := &o.counters[i*int(abi.NumPoints)+int(point)]
			if d.calls == 0 && d.reused == 0 {
				continue
			}
			c := t.of(i, point)
			c.answered(d.code)
			c.calls += d.calls
			c.rows += d.rows
			c.reused += d.reused
			c.duration += d.duration
			*d = counter{}
		}
	}
	o.plugins = o.plugins[:0]
}

// take appends an entry for each plugin and point that was called, and
// resets the counts.
func (t *timings) take(p *Pipeline, out []report.Timing) []report.Timing {
	slices.Sort(t.plugins)
	for _, i := range t.plugins {
		info := p.infos[i]
		t.used[i] = false
		for point := range abi.NumPoints {
			c := &t.counters[i*int(abi.NumPoints)+int(point)]
			if c.calls == 0 && c.faults == 0 && c.reused == 0 {
				continue
			}
			out = append(out, report.Timing{
				Plugin: info.Name, Module: info.Module, Digest: info.Digest, Point: point, Code: c.code,
				Calls: c.calls, Rows: c.rows, Reused: c.reused, Faults: c.faults, Duration: c.duration,
			})
			*c = counter{}
		}
	}
	t.plugins = t.plugins[:0]
	return out
}

// inCycle returns the points of cycles. Faults at those of binding cycles are counted in
// plugin.Placement.
func inCycle() [8]abi.Point {
	return [...]abi.Point{abi.PreFilter, abi.Filter, abi.PreScore, abi.Score, abi.Normalize, abi.PostFilter, abi.AddPod, abi.RemovePod}
}

// betweenCycles returns the points that the loop calls between cycles.
func betweenCycles() [3]abi.Point {
	return [...]abi.Point{abi.PreEnqueue, abi.QueueSort, abi.Hint}
}

// faulter is a plugin that can fail without having an opinion: a guest.
type faulter interface{ FaultsAt(point abi.Point) int64 }

// failing is such a plugin and how many of its faults were counted.
type failing struct {
	plugin  faulter
	counted [abi.NumPoints]int64
}

// faults counts the faults at some points since the last call, of plugins that were called.
// Calls of these points come one after the other, so that those of a cycle are of its pod.
func (p *Pipeline) faults(t *timings, points []abi.Point) {
	for _, i := range t.plugins {
		f := p.failing[i]
		if f == nil {
			continue
		}
		for _, point := range points {
			if n := f.plugin.FaultsAt(point); n != f.counted[point] {
				t.of(i, point).faults += n - f.counted[point]
				f.counted[point] = n
			}
		}
	}
}
