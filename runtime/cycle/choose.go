package cycle

import (
	"slices"

	"github.com/berth-scheduler/berth/runtime/report"
)

// choose scores the feasible rows and takes the best one. A single feasible row
// is taken without scoring.
func (s *draft) choose(rows []uint32) {
	if len(rows) == 1 {
		s.d.Node = s.in.Snapshot.Nodes.Node[rows[0]]
		s.attempt.Candidates = append(s.attempt.Candidates, report.Candidate{Node: s.d.Node.Name})
		return
	}
	if status := s.run.PreScore(rows); !status.Success() {
		s.fail(status)
		return
	}
	if status := s.run.Score(rows); !status.Success() {
		s.fail(status)
		return
	}
	s.extendersScore(rows)
	best := s.best(rows)
	s.d.Node = s.in.Snapshot.Nodes.Node[rows[best]]
	s.candidates(rows, best)
}

// best returns the position of the highest total, ties broken as configured.
func (s *draft) best(rows []uint32) int {
	totals := s.run.Scores.Totals
	highest, ties := totals[0], 0
	for _, total := range totals {
		switch {
		case total > highest:
			highest, ties = total, 1
		case total == highest:
			ties++
		}
	}
	pick := 0
	if s.cycle.config.TieBreak == Random && ties > 1 {
		s.cycle.pcg.Seed(s.in.Seed, s.in.Sequence)
		pick = s.cycle.rand.IntN(ties)
	}
	rank := s.in.Snapshot.Nodes.Rank
	best := -1
	for i, total := range totals {
		if total != highest {
			continue
		}
		if s.cycle.config.TieBreak == Random {
			if pick == 0 {
				return i
			}
			pick--
		} else if best < 0 || rank[rows[i]] < rank[rows[best]] {
			best = i
		}
	}
	return best
}

// candidates records the best rows with their scores, the chosen one first and
// the others by total, then by row.
func (s *draft) candidates(rows []uint32, chosen int) {
	totals := s.run.Scores.Totals
	n := min(s.cycle.config.Candidates, len(rows))
	top := append(s.cycle.top[:0], chosen)
	for i := range rows {
		if i == chosen || len(top) == n && totals[i] <= totals[top[n-1]] {
			continue
		}
		at := len(top)
		for at > 1 && totals[top[at-1]] < totals[i] {
			at--
		}
		if at == n {
			continue
		}
		top = append(top, 0)
		copy(top[at+1:], top[at:])
		top[at] = i
		top = top[:min(len(top), n)]
	}
	s.cycle.top = top
	scores := slices.Grow(s.cycle.scores[:0], len(top)*s.run.Scores.Len())
	s.cycle.scores = scores
	for _, i := range top {
		c := report.Candidate{Node: s.in.Snapshot.Name(rows[i]), Total: totals[i]}
		for p := range s.run.Scores.Len() {
			name, raw, normalized, weighted := s.run.Scores.At(p, i)
			scores = append(scores, report.Score{Plugin: name, Raw: raw, Normalized: normalized, Weighted: weighted})
		}
		n := len(scores) - s.run.Scores.Len()
		c.Scores = scores[n:len(scores):len(scores)]
		s.attempt.Candidates = append(s.attempt.Candidates, c)
	}
}
