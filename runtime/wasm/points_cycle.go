package wasm

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// applies reports whether the plugin is for a pod at all.
func (p *Plugin) applies(pod *state.Pod) bool { return p.projection.Sees(pod.Namespace) }

// PreFilter implements plugin.PreFilter.
func (p *Plugin) PreFilter(c *plugin.Cycle) (rows []uint32, status *plugin.Status) {
	if !p.applies(c.Pod) {
		return nil, plugin.NewStatus(abi.Skip)
	}
	if !p.declared[abi.PreFilter] {
		return nil, nil
	}
	out, f := p.once(c, &request{point: abi.PreFilter, stateful: true})
	if f != nil {
		if status := p.failed(f, c.Pod); status != nil {
			return nil, status
		}
		return nil, plugin.NewStatus(abi.Skip) // ignored: its filter would judge without what this call prepares
	}
	return out.rows, out.status
}

// once makes a call that is not split.
func (p *Plugin) once(c *plugin.Cycle, r *request) (out reply, f *fault.Fault) {
	defer func() { p.ending.Add(r.point, r.rows, f) }()
	if f := p.enter(c, r.point); f != nil {
		return reply{}, f
	}
	defer p.leave()
	if r.point == abi.PreFilter && p.sharded { // it sees no rows (ABI-5.3)
		return p.shards[p.source.Shards].call(c, r)
	}
	return p.shards[0].call(c, r)
}

// Filter implements plugin.Filter.
func (p *Plugin) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	if !p.declared[abi.Filter] || !p.applies(c.Pod) {
		return
	}
	f := p.filter(c, rows, out)
	if f == nil {
		return
	}
	p.unanswered[abi.Filter].Add(1)
	status := p.failed(f, c.Pod)
	var reason uint16
	if status != nil {
		reason = out.Reason(status.AllReasons()...)
	}
	for i := range rows {
		out.Reject(i, status.CodeOf(), reason)
	}
}

func (p *Plugin) filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) (f *fault.Fault) {
	defer func() { p.ending.Add(abi.Filter, rows, f) }()
	if f := p.enter(c, abi.Filter); f != nil {
		return f
	}
	defer p.leave()
	r := request{point: abi.Filter, verdicts: out, stateful: p.info.Scope(abi.Filter) == abi.ScopeCluster}
	for r.at < len(rows) {
		var s *shard
		r.rows, s = p.part(c, rows[r.at:])
		answer, f := s.call(c, &r)
		if f != nil {
			return f
		}
		if answer.code == abi.Error {
			reason := out.Reason(append([]string{"the plugin failed"}, answer.status.Reasons...)...)
			for i := range r.rows {
				out.Reject(r.at+i, abi.Error, reason)
			}
		}
		r.at += len(r.rows)
	}
	return nil
}

// part returns the rows at the front that one call can take, and the instance
// that holds them: all rows if there is one instance, those of one block if
// several share the rows, and overlay rows one at a time.
func (p *Plugin) part(c *plugin.Cycle, rows []uint32) ([]uint32, *shard) {
	first := uint32(c.Snapshot.Capacity()) // of overlay rows
	switch {
	case rows[0] >= first:
		return rows[:1], p.shards[0]
	case p.source.Shards == 1 && rows[len(rows)-1] < first:
		return rows, p.shards[0]
	case p.source.Shards > 1:
		first = min(first, (rows[0]/plugin.BlockRows+1)*plugin.BlockRows)
	}
	n := 1
	for n < len(rows) && rows[n] < first {
		n++
	}
	return rows[:n], p.shards[int(rows[0]/plugin.BlockRows)%p.source.Shards]
}

// PreScore implements plugin.PreScore.
func (p *Plugin) PreScore(c *plugin.Cycle, rows []uint32) *plugin.Status {
	if !p.applies(c.Pod) {
		return plugin.NewStatus(abi.Skip)
	}
	if !p.declared[abi.PreScore] {
		return nil
	}
	answer, f := p.once(c, &request{point: abi.PreScore, rows: rows, stateful: true})
	if f == nil {
		return answer.status
	}
	if status := p.failed(f, c.Pod); status != nil {
		return status
	}
	return plugin.NewStatus(abi.Skip) // ignored: no opinion on any node
}

// Score implements plugin.Score.
func (p *Plugin) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	if !p.declared[abi.Score] || !p.applies(c.Pod) {
		return nil
	}
	status, f := p.score(c, rows, out)
	if f == nil {
		return status
	}
	p.unanswered[abi.Score].Add(1)
	clear(out)
	key := keyOf(c)
	p.ignored.Store(&key)
	return p.failed(f, c.Pod)
}

func (p *Plugin) score(c *plugin.Cycle, rows []uint32, out []int64) (_ *plugin.Status, f *fault.Fault) {
	defer func() { p.ending.Add(abi.Score, rows, f) }()
	if f := p.enter(c, abi.Score); f != nil {
		return nil, f
	}
	defer p.leave()
	r := request{
		point: abi.Score, stateful: p.info.Scope(abi.Score) == abi.ScopeCluster,
		inRange: p.normalize == wire.NormalizeNone && !p.declared[abi.Normalize],
	}
	for at := 0; at < len(rows); at += len(r.rows) {
		var s *shard
		r.rows, s = p.part(c, rows[at:])
		r.scores = out[at : at+len(r.rows)]
		answer, f := s.call(c, &r)
		if f != nil || answer.status != nil {
			return answer.status, f
		}
	}
	return nil, nil
}

// Normalize implements plugin.Normalize, with the manifest's normalisation or the
// guest's. If a fault of Score was ignored it drops all scores of the cycle: some
// nodes rated and some not would be an opinion nobody has.
func (p *Plugin) Normalize(c *plugin.Cycle, rows []uint32, scores []int64) *plugin.Status {
	if k := p.ignored.Load(); k != nil && *k == keyOf(c) || !p.declared[abi.Score] || !p.applies(c.Pod) {
		clear(scores)
		return nil
	}
	if !p.declared[abi.Normalize] {
		normalize(p.normalize, scores)
		return nil
	}
	answer, f := p.once(c, &request{point: abi.Normalize, rows: rows, scores: scores, inRange: true, stateful: true})
	if f == nil {
		return answer.status
	}
	status := p.failed(f, c.Pod)
	if status == nil {
		clear(scores)
	}
	return status
}
