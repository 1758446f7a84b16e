package wasm

import (
	"context"
	"errors"
	"log/slog"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// applies reports whether the plugin is for a pod at all.
func (p *Plugin) applies(pod *state.Pod) bool { return p.projection.sees(pod.Namespace) }

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
func (p *Plugin) once(c *plugin.Cycle, r *request) (out reply, f *Fault) {
	defer func() { p.tally.add(r.point, r.rows, f) }()
	if f := p.enter(c, r.point); f != nil {
		return reply{}, f
	}
	defer p.leave()
	if r.point == abi.PreFilter && p.sharded { // it sees no rows (ABI-5.3)
		return p.shards[p.shardCount].call(c, r)
	}
	return p.shards[0].call(c, r)
}

// failed returns the status of a fault by policy; nil when it is ignored. The call was about
// these pods.
func (p *Plugin) failed(f *Fault, pods ...*state.Pod) *plugin.Status {
	level := slog.LevelError
	if f.Kind == BreakerOpen || f.told.Swap(true) { // the faults that opened it were told
		level = slog.LevelDebug
	}
	attrs := []any{"plugin", f.Plugin, "point", f.Point.String(), "kind", f.Kind, "detail", f.Detail, "trace", f.Trace, "fault", f}
	if len(pods) > 0 {
		attrs = append(attrs, "pod", pods[0].Key())
	}
	if len(pods) > 1 { // one of them, which is not known, or the plugin anyway
		attrs = append(attrs, "pods", len(pods))
	}
	p.deps.Log.Log(context.Background(), level, "plugin fault", attrs...)
	if p.policy(f.Point) == Ignore {
		return nil
	}
	return plugin.Fail(f)
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
	status := p.failed(f, c.Pod)
	var reason uint16
	if status != nil {
		reason = out.Reason(status.AllReasons()...)
	}
	for i := range rows {
		out.Reject(i, status.CodeOf(), reason)
	}
}

func (p *Plugin) filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) (f *Fault) {
	defer func() { p.tally.add(abi.Filter, rows, f) }()
	if f := p.enter(c, abi.Filter); f != nil {
		return f
	}
	defer p.leave()
	r := request{point: abi.Filter, verdicts: out, stateful: p.info.FilterScope == abi.ScopeCluster}
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
	case p.shardCount == 1 && rows[len(rows)-1] < first:
		return rows, p.shards[0]
	case p.shardCount > 1:
		first = min(first, (rows[0]/blockRows+1)*blockRows)
	}
	n := 1
	for n < len(rows) && rows[n] < first {
		n++
	}
	return rows[:n], p.shards[int(rows[0]/blockRows)%p.shardCount]
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
	clear(out)
	p.ignored.Store(true)
	return p.failed(f, c.Pod)
}

func (p *Plugin) score(c *plugin.Cycle, rows []uint32, out []int64) (_ *plugin.Status, f *Fault) {
	defer func() { p.tally.add(abi.Score, rows, f) }()
	if f := p.enter(c, abi.Score); f != nil {
		return nil, f
	}
	defer p.leave()
	r := request{
		point: abi.Score, stateful: p.info.ScoreScope == abi.ScopeCluster,
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
	if p.ignored.Load() || !p.declared[abi.Score] || !p.applies(c.Pod) {
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

// AsFault returns the fault in an error chain, if there is one.
func AsFault(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}
