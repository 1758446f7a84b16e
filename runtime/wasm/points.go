package wasm

import (
	"errors"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// applies reports whether the plugin is for a pod at all.
func (p *Plugin) applies(pod *state.Pod) bool { return p.projection.sees(pod.Namespace) }

// has reports whether the manifest declares a point.
func (p *Plugin) has(point abi.Point) bool { return p.deps.Manifest.Points.Get(point) != nil }

// first returns the instance for calls that are not split.
func (p *Plugin) first() *shard { return p.shards[0] }

// PreFilter implements plugin.PreFilter.
func (p *Plugin) PreFilter(c *plugin.Cycle) (rows []uint32, status *plugin.Status) {
	if !p.applies(c.Pod) {
		return nil, plugin.NewStatus(abi.Skip)
	}
	if !p.has(abi.PreFilter) {
		return nil, nil
	}
	f := p.asFault(abi.PreFilter, p.begin(c))
	if f == nil {
		s := p.first()
		if p.sharded {
			s.hideRows()
			defer s.showRows()
		}
		_, f = s.call(c, request{point: abi.PreFilter, stateful: true}, func(code abi.Code) (f *Fault) {
			a := s.answers(abi.PreFilter)
			if status, f = a.status(code); f != nil {
				return f
			}
			switch code {
			case abi.Success, abi.Skip, abi.Unschedulable, abi.UnschedulableAndUnresolvable, abi.Error:
			default:
				return a.bad("%s is no answer of PreFilter", code)
			}
			rows, f = a.rowSet()
			return f
		})
	}
	if f != nil {
		return nil, p.failed(f)
	}
	return rows, status
}

// failed returns the status of a fault by policy; nil when it is ignored.
func (p *Plugin) failed(f *Fault) *plugin.Status {
	p.deps.Log.Error("plugin fault", "plugin", f.Plugin, "point", f.Point.String(), "kind", f.Kind, "detail", f.Detail)
	if p.policy(f.Point) == Ignore {
		return nil
	}
	return plugin.Fail(f)
}

// Filter implements plugin.Filter.
func (p *Plugin) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	if !p.applies(c.Pod) {
		return
	}
	f := p.asFault(abi.Filter, p.begin(c))
	if f == nil {
		f = p.filter(c, rows, out)
	}
	if f == nil {
		return
	}
	status := p.failed(f)
	var reason uint16
	if status != nil {
		reason = out.Reason(status.AllReasons()...)
	}
	for i := range rows {
		out.Reject(i, status.CodeOf(), reason)
	}
}

func (p *Plugin) filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) *Fault {
	var rejected []string
	stateful := p.info.FilterScope == abi.ScopeCluster
	for at := 0; at < len(rows); {
		part, s := p.part(c, rows[at:])
		code, f := s.call(c, request{point: abi.Filter, rows: part, stateful: stateful}, func(code abi.Code) *Fault {
			a := s.answers(abi.Filter)
			switch code {
			case abi.Success:
				return a.verdicts(len(part), at, out)
			case abi.Error:
				status, f := a.status(code)
				if f == nil {
					rejected = status.Reasons
				}
				return f
			}
			return a.bad("%s is no answer of Filter as a whole", code)
		})
		if f != nil {
			return f
		}
		if code == abi.Error {
			reason := out.Reason(append([]string{"the plugin failed"}, rejected...)...)
			for i := range part {
				out.Reject(at+i, abi.Error, reason)
			}
		}
		at += len(part)
	}
	return nil
}

// part returns the rows at the front that one call can take, and the instance
// that holds them: all rows if there is one instance, those of one block if
// several share the rows, and overlay rows one at a time.
func (p *Plugin) part(c *plugin.Cycle, rows []uint32) ([]uint32, *shard) {
	switch {
	case int(rows[0]) >= c.Snapshot.Capacity():
		return rows[:1], p.shards[0]
	case p.shardCount == 1:
		return rows, p.shards[0]
	}
	block := rows[0] / blockRows
	n := 1
	for n < len(rows) && rows[n]/blockRows == block {
		n++
	}
	return rows[:n], p.shards[int(block)%p.shardCount]
}

// PreScore implements plugin.PreScore.
func (p *Plugin) PreScore(c *plugin.Cycle, rows []uint32) (status *plugin.Status) {
	if !p.applies(c.Pod) {
		return plugin.NewStatus(abi.Skip)
	}
	if !p.has(abi.PreScore) {
		return nil
	}
	f := p.asFault(abi.PreScore, p.begin(c))
	if f == nil {
		s := p.first()
		_, f = s.call(c, request{point: abi.PreScore, rows: rows, stateful: true}, func(code abi.Code) (f *Fault) {
			a := s.answers(abi.PreScore)
			if code != abi.Success && code != abi.Skip && code != abi.Error {
				return a.bad("%s is no answer of PreScore", code)
			}
			status, f = a.status(code)
			return f
		})
	}
	if f == nil {
		return status
	}
	if status = p.failed(f); status == nil {
		return plugin.NewStatus(abi.Skip) // ignored: no opinion on any node
	}
	return status
}

// Score implements plugin.Score.
func (p *Plugin) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	if !p.applies(c.Pod) {
		return nil
	}
	f := p.asFault(abi.Score, p.begin(c))
	if f == nil {
		var status *plugin.Status
		if status, f = p.score(c, rows, out); f == nil {
			return status
		}
	}
	clear(out)
	p.ignoreScores()
	return p.failed(f)
}

func (p *Plugin) score(c *plugin.Cycle, rows []uint32, out []int64) (*plugin.Status, *Fault) {
	inRange := p.normalize == wire.NormalizeNone && !p.has(abi.Normalize)
	stateful := p.info.ScoreScope == abi.ScopeCluster
	for at := 0; at < len(rows); {
		part, s := p.part(c, rows[at:])
		var status *plugin.Status
		_, f := s.call(c, request{point: abi.Score, rows: part, stateful: stateful}, func(code abi.Code) (f *Fault) {
			a := s.answers(abi.Score)
			switch code {
			case abi.Success:
				return a.scores(out[at:at+len(part)], inRange)
			case abi.Error:
				status, f = a.status(code)
				return f
			}
			return a.bad("%s is no answer of Score", code)
		})
		if f != nil || !status.Success() {
			return status, f
		}
		at += len(part)
	}
	return nil, nil
}

// ignoreScores makes Normalize drop all scores of this cycle: some nodes rated
// and some not would be an opinion nobody has.
func (p *Plugin) ignoreScores() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faulted = true
}

// Normalize implements plugin.Normalize, with the manifest's normalisation or the
// guest's.
func (p *Plugin) Normalize(c *plugin.Cycle, rows []uint32, scores []int64) *plugin.Status {
	p.mu.Lock()
	faulted := p.faulted
	p.mu.Unlock()
	if faulted || !p.applies(c.Pod) {
		clear(scores)
		return nil
	}
	if !p.has(abi.Normalize) {
		normalize(p.normalize, scores)
		return nil
	}
	s := p.first()
	var status *plugin.Status
	_, f := s.call(c, request{point: abi.Normalize, rows: rows, scores: scores, stateful: true}, func(code abi.Code) (f *Fault) {
		a := s.answers(abi.Normalize)
		switch code {
		case abi.Success:
			return a.scores(scores, true)
		case abi.Error:
			status, f = a.status(code)
			return f
		}
		return a.bad("%s is no answer of Normalize", code)
	})
	if f == nil {
		return status
	}
	if status = p.failed(f); status == nil {
		clear(scores)
	}
	return status
}

// normalize brings scores into range as declared (ABI-9.5).
func normalize(how string, scores []int64) {
	switch how {
	case wire.NormalizeMax, wire.NormalizeReverse:
		for i, s := range scores {
			scores[i] = max(0, s)
		}
		plugin.NormalizeMax(scores, how == wire.NormalizeReverse)
	case wire.NormalizeMinMax:
		lowest, highest := scores[0], scores[0]
		for _, s := range scores {
			lowest, highest = min(lowest, s), max(highest, s)
		}
		for i, s := range scores {
			scores[i] = between(s, lowest, highest)
		}
	}
}

// between maps lowest … highest to 0 … 100 without overflow; 0 if they are equal.
func between(s, lowest, highest int64) int64 {
	width := uint64(highest) - uint64(lowest)
	if width == 0 {
		return 0
	}
	part := uint64(s) - uint64(lowest)
	if width > 1<<56 {
		part, width = part>>8, width>>8
	}
	return int64(part * uint64(abi.MaxScore) / width)
}

// hideRows makes the nodes table of a shard look empty, for pre_filter of a
// plugin whose nodes are split (ABI-5.3).
func (s *shard) hideRows() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guest != nil {
		s.view()
		s.layout.SetRows(s.mem, nodesTable, 0)
	}
}

func (s *shard) showRows() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guest != nil {
		s.view()
		s.layout.SetRows(s.mem, nodesTable, s.rows)
	}
}

// AsFault returns the fault in an error chain, if there is one.
func AsFault(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}
