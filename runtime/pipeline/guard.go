package pipeline

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// ask calls a plugin at a point and returns its answer: an Error if the plugin panics, which is the failure of that call
// alone. Workers may call it.
func (p *Pipeline) ask(info *plugin.Info, point abi.Point, call func() *plugin.Status) (answer *plugin.Status) {
	defer func() {
		if r := recover(); r != nil {
			answer = plugin.Fail(p.stopped(info, point, r))
		}
	}()
	return call()
}

// told calls a plugin that cannot fail at a point. It reports whether the plugin returned.
func (p *Pipeline) told(info *plugin.Info, point abi.Point, call func()) bool {
	return p.ask(info, point, func() *plugin.Status {
		call()
		return nil
	}) == nil
}

// filter calls a filter. If it panics, filter reports false, and all rows of the call have an Error.
func (p *Pipeline) filter(c *plugin.Cycle, s stage[plugin.Filter], rows []uint32, out *plugin.Verdicts) bool {
	failed := p.ask(s.info, abi.Filter, func() *plugin.Status {
		s.plugin.Filter(c, rows, out)
		return nil
	})
	if failed == nil {
		return true
	}
	out.Reset(len(rows))
	reason := out.Reason(failed.Message())
	for i := range rows {
		out.Reject(i, abi.Error, reason)
	}
	return false
}

// preEnqueueBatch asks a gate about pods. If it panics, each is asked about alone, so that only those pods stay
// outside of the queue with which it panics.
func (p *Pipeline) preEnqueueBatch(s stage[plugin.PreEnqueue], pods []*state.Pod, answers []*plugin.Status) {
	failed := p.ask(s.info, abi.PreEnqueue, func() *plugin.Status {
		s.plugin.PreEnqueue(pods, answers)
		return nil
	})
	if failed == nil {
		return
	}
	for i := range pods {
		answers[i] = failed
		if len(pods) > 1 {
			answers[i] = nil
			p.preEnqueueBatch(s, pods[i:i+1], answers[i:i+1])
		}
	}
}

// stopped counts and reports a plugin's panic.
func (p *Pipeline) stopped(info *plugin.Info, point abi.Point, recovered any) *plugin.Panic {
	place := plugin.InPlugin
	if point == abi.Hint || point == abi.QueueSort {
		place = plugin.InHint
	}
	caught := plugin.Stopped(place, point.String()+" of plugin "+info.Name, recovered)
	p.panics.Add(1)
	if p.tell != nil {
		p.tell(caught)
	}
	return caught
}

// Panics returns how many calls of plugins panicked so far. What a plugin keeps from cycle to cycle may be half-changed
// after one.
func (p *Pipeline) Panics() uint64 { return p.panics.Load() }
