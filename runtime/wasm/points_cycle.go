package wasm

import (
	"math"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

var (
	_ plugin.PreFilter = (*Plugin)(nil)
	_ plugin.Filter    = (*Plugin)(nil)
	_ plugin.PreScore  = (*Plugin)(nil)
	_ plugin.Score     = (*Plugin)(nil)
	_ plugin.Scaler    = (*Plugin)(nil)
	_ plugin.Ordered   = (*Plugin)(nil)
)

// PreFilter implements plugin.PreFilter.
func (p *Plugin) PreFilter(c *plugin.Cycle) (rows []uint32, status *plugin.Status) {
	if !p.applies(c.Pod) {
		return nil, plugin.NewStatus(abi.Skip)
	}
	if !p.declared[abi.PreFilter] {
		return nil, nil
	}
	out, f := p.cycles.once(c, &request{point: abi.PreFilter, stateful: true})
	if f != nil {
		if status := p.faults.status(f, c.Pod); status != nil {
			return nil, status
		}
		return nil, plugin.NewStatus(abi.Skip) // ignored: Filter would lack what this call prepares
	}
	c.State.RetryAfter(p.info.Name, abi.RetryAfter(out.retry))
	return out.rows, out.status
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
	status := p.faults.status(f, c.Pod)
	var reason uint16
	if status != nil {
		reason = out.Reason(status.AllReasons()...)
	}
	for i := range rows {
		out.Reject(i, status.CodeOf(), reason)
	}
}

// Lanes implements plugin.Ordered: calls of one instance come in the order of its blocks.
func (p *Plugin) Lanes(c *plugin.Cycle, point abi.Point) int {
	switch {
	case !p.declared[point] || !p.applies(c.Pod):
		return math.MaxInt // no instance is called
	case p.cycles.enter(c, point) != nil:
		return 1
	}
	defer p.cycles.leave()
	return p.cycles.source.Shards
}

func (p *Plugin) filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) (f *fault.Fault) {
	r := request{point: abi.Filter, verdicts: out, stateful: p.info.Scope(abi.Filter) == abi.ScopeCluster}
	defer func() { p.ending.Add(abi.Filter, rows, f, r.spent) }()
	if f := p.cycles.enter(c, abi.Filter); f != nil {
		return f
	}
	defer p.cycles.leave()
	for r.at < len(rows) {
		var s *shard
		r.rows, s = p.cycles.part(c, rows[r.at:])
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

// PreScore implements plugin.PreScore.
func (p *Plugin) PreScore(c *plugin.Cycle, rows []uint32) *plugin.Status {
	if !p.applies(c.Pod) {
		return plugin.NewStatus(abi.Skip)
	}
	if !p.declared[abi.PreScore] {
		return nil
	}
	answer, f := p.cycles.once(c, &request{point: abi.PreScore, rows: rows, stateful: true})
	if f == nil {
		return answer.status
	}
	if status := p.faults.status(f, c.Pod); status != nil {
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
	return p.faults.status(f, c.Pod)
}

func (p *Plugin) score(c *plugin.Cycle, rows []uint32, out []int64) (_ *plugin.Status, f *fault.Fault) {
	r := request{
		point: abi.Score, stateful: p.info.Scope(abi.Score) == abi.ScopeCluster,
		inRange: p.scaling == plugin.Unscaled && !p.declared[abi.Normalize],
	}
	defer func() { p.ending.Add(abi.Score, rows, f, r.spent) }()
	if f := p.cycles.enter(c, abi.Score); f != nil {
		return nil, f
	}
	defer p.cycles.leave()
	for at := 0; at < len(rows); at += len(r.rows) {
		var s *shard
		r.rows, s = p.cycles.part(c, rows[at:])
		r.scores = out[at : at+len(r.rows)]
		answer, f := s.call(c, &r)
		if f != nil || answer.status != nil {
			return answer.status, f
		}
	}
	if p.scaling != plugin.Unscaled && p.manifest.Minor() == 0 { // in ABI 1.0 NoScore is a number like others
		for i := range out {
			out[i] = max(out[i], abi.NoScore+1)
		}
	}
	return nil, nil
}

// Normalize implements plugin.Normalize, with the manifest's normalisation or the guest's.
// If a fault of Score was ignored, it drops all scores of the cycle: scores of some nodes
// only would favour these.
func (p *Plugin) Normalize(c *plugin.Cycle, rows []uint32, scores []int64) *plugin.Status {
	if k := p.ignored.Load(); k != nil && *k == keyOf(c) || !p.declared[abi.Score] || !p.applies(c.Pod) {
		clear(scores)
		return nil
	}
	if !p.declared[abi.Normalize] {
		p.scaling.Scale(scores)
		return nil
	}
	answer, f := p.cycles.once(c, &request{point: abi.Normalize, rows: rows, scores: scores, inRange: true, stateful: true})
	if f == nil {
		return answer.status
	}
	status := p.faults.status(f, c.Pod)
	if status == nil {
		clear(scores)
	}
	return status
}
