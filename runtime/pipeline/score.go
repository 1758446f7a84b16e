package pipeline

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Scores is what the plugins gave the feasible rows, by position.
type Scores struct {
	// Totals is the sum of the weighted scores of each row.
	Totals []int64

	used    []scored
	buffers [][]int64
	rows    []uint32 // of kept scores
}

// scored is one plugin's scores: in arrays, or those that are kept.
type scored struct {
	name            string
	weight          int64
	raw, normalized []int64
	kept            part
}

func (s *Scores) reset() { s.used, s.Totals = s.used[:0], s.Totals[:0] }

// buffer returns the i-th array of n zeros.
func (s *Scores) buffer(i, n int) []int64 {
	for len(s.buffers) <= i {
		s.buffers = append(s.buffers, nil)
	}
	s.buffers[i] = slices.Grow(s.buffers[i][:0], n)[:n]
	clear(s.buffers[i])
	return s.buffers[i]
}

// Len returns the number of plugins that scored.
func (s *Scores) Len() int { return len(s.used) }

// At returns what the i-th plugin gave the row at a position.
func (s *Scores) At(i, position int) (name string, raw, normalized, weighted int64) {
	u := &s.used[i]
	if u.kept.answers != nil {
		return u.kept.at(s.rows[position])
	}
	return u.name, u.raw[position], u.normalized[position], u.normalized[position] * u.weight
}

// PreScore runs the PreScore plugins on the feasible rows.
func (r *Run) PreScore(rows []uint32) *plugin.Status {
	watch := clock.Start()
	status := r.preScore(rows)
	r.ran(abi.PreScore, status, watch)
	return status
}

func (r *Run) preScore(rows []uint32) *plugin.Status {
	for _, s := range r.own.preScore {
		if r.skipScore[s.index] {
			continue
		}
		watch := clock.Start()
		answer := r.p.ask(s.info, abi.PreScore, func() *plugin.Status { return s.plugin.PreScore(&r.Cycle, rows) })
		r.timings.add(s.index, abi.PreScore, len(rows), answer.CodeOf(), watch.Elapsed())
		switch answer.CodeOf() {
		case abi.Success:
		case abi.Skip:
			r.skipScore[s.index] = true
		default:
			return failed("PreScore", s.info.Name, answer)
		}
	}
	for _, s := range r.own.score {
		p, ok := s.plugin.(plugin.Indifferent)
		if !ok {
			continue
		}
		if !r.p.told(s.info, abi.Score, func() { r.skipScore[s.index] = p.Indifferent(&r.Cycle) || r.skipScore[s.index] }) {
			r.skipScore[s.index] = false // it is asked, and panics there if it must
		}
	}
	return nil
}

// Score runs the Score plugins on the feasible rows, brings the scores in range
// and adds them up by weight into r.Scores.
func (r *Run) Score(rows []uint32) *plugin.Status {
	watch := clock.Start()
	status := r.score(rows)
	r.ran(abi.Score, status, watch)
	return status
}

func (r *Run) score(rows []uint32) *plugin.Status {
	out := &r.Scores
	n := len(rows)
	out.Totals = slices.Grow(out.Totals[:0], n)[:n]
	clear(out.Totals)
	for _, s := range r.own.score {
		if r.skipScore[s.index] {
			continue
		}
		if status := r.scoreBy(s, rows); !status.Success() {
			return status
		}
	}
	return nil
}

// scoreBy adds what one plugin gives rows.
func (r *Run) scoreBy(s stage[plugin.Score], rows []uint32) *plugin.Status {
	out, n := &r.Scores, len(rows)
	used := scored{name: s.info.Name, weight: s.weight, raw: out.buffer(2*len(out.used), n)}
	used.normalized = out.buffer(2*len(out.used)+1, n)
	if status := r.rate(s, rows, used.raw); !status.Success() {
		return failed("Score", s.info.Name, status)
	}
	copy(used.normalized, used.raw)
	if normalize, ok := s.plugin.(plugin.Normalize); ok {
		watch := clock.Start()
		status := r.p.ask(s.info, abi.Normalize, func() *plugin.Status { return normalize.Normalize(&r.Cycle, rows, used.normalized) })
		r.timings.add(s.index, abi.Normalize, n, status.CodeOf(), watch.Elapsed())
		if !status.Success() {
			return failed("ScoreExtensionNormalize", s.info.Name, status)
		}
	}
	for i, score := range used.normalized {
		if score < abi.MinScore || score > abi.MaxScore {
			return failed("Score", s.info.Name, plugin.Fail(fmt.Errorf(
				"score %d of node %q is not between %d and %d after normalizing",
				score, r.Cycle.Snapshot.Name(rows[i]), abi.MinScore, abi.MaxScore)))
		}
		out.Totals[i] += score * s.weight
	}
	out.used = append(out.used, used)
	return nil
}

// rate calls one Score plugin: block by block for scope node, once for scope
// cluster.
func (r *Run) rate(s stage[plugin.Score], rows []uint32, out []int64) *plugin.Status {
	r.blocks = r.blocks[:0]
	if s.info.Scope(abi.Score) == abi.ScopeNode {
		r.blocks = cut(rows, r.blocks)
		if !r.caches.Bypassed(s.index) {
			if a := r.caches.Lookup(s.index); a != nil {
				a.Scores()
			}
		}
	} else {
		r.blocks = append(r.blocks, rows)
	}
	if len(r.blocks) == 1 { // as a rule, with kept answers
		status := r.rateBlock(0, s, rows, out)
		r.keepAnswers()
		return status
	}
	starts := append(r.starts[:0], 0)
	for _, block := range r.blocks {
		starts = append(starts, starts[len(starts)-1]+len(block))
	}
	answers := slices.Grow(r.answers[:0], len(r.blocks))[:len(r.blocks)]
	r.starts, r.answers = starts, answers
	r.turns.begin(r.blocks)
	r.p.workers.do(len(r.blocks), func(w, block int) {
		defer r.turns.end(block)
		r.workers[w].turn = turn{of: &r.turns, block: block}
		defer func() { r.workers[w].turn = turn{} }()
		answers[block] = r.rateBlock(w, s, r.blocks[block], out[starts[block]:starts[block+1]])
	})
	r.keepAnswers()
	for _, answer := range answers {
		if !answer.Success() {
			return answer
		}
	}
	return nil
}

// rateBlock has a plugin score one block in a worker.
func (r *Run) rateBlock(w int, s stage[plugin.Score], rows []uint32, out []int64) *plugin.Status {
	watch := clock.Start()
	asked, status := r.scoreRows(&r.workers[w], s, rows, out)
	r.workers[w].measured(s.index, abi.Score, len(rows), asked, status.CodeOf(), watch)
	return status
}
