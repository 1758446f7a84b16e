package cycle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
)

// choose scores the feasible rows and takes the best one. A single feasible row
// is taken without scoring.
func (s *draft) choose(rows []uint32) {
	if len(rows) == 1 {
		s.only(rows[0])
		return
	}
	if status := s.run.PreScore(rows); !status.Success() {
		s.fail(status)
		return
	}
	s.score(rows)
}

// only takes the only feasible row.
func (s *draft) only(row uint32) {
	s.d.Node = s.in.Snapshot.Nodes.Node[row]
	s.attempt.Candidates = append(s.attempt.Candidates, report.Candidate{Node: s.d.Node.Name})
}

// score takes the best of several feasible rows.
func (s *draft) score(rows []uint32) {
	if status := s.run.Score(rows); !status.Success() {
		s.fail(status)
		return
	}
	s.extendersScore(rows)
	s.take(rows)
}

// take takes the row with the highest total.
func (s *draft) take(rows []uint32) {
	best := s.best(rows)
	s.d.Node = s.in.Snapshot.Nodes.Node[rows[best]]
	totals := s.run.Scores.Totals
	s.tied(rows, func(i int) bool { return totals[i] == totals[best] })
	s.candidates(rows, best)
}

// tied says whether the node of Input.Beside, if it is in rows, has the highest total as well.
func (s *draft) tied(rows []uint32, highest func(i int) bool) {
	if s.in.Beside == nil {
		return
	}
	at := slices.IndexFunc(rows, func(row uint32) bool { return s.in.Snapshot.Nodes.Node[row] == s.in.Beside })
	s.d.Tied = at >= 0 && highest(at)
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
	pick := s.pick(ties)
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

// pick returns which of the best rows is taken.
func (s *draft) pick(ties int) int {
	if s.cycle.config.TieBreak != Random || ties == 1 {
		return 0
	}
	s.cycle.pcg.Seed(s.in.Seed, cmp.Or(s.in.Draw, s.in.Sequence))
	return s.cycle.rand.IntN(ties)
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
	s.list(len(top), s.run.Scores.Len(), func(i int) (uint32, int64) { return rows[top[i]], totals[top[i]] }, func(i, p int) (string, int64, int64, int64) {
		return s.run.Scores.At(p, top[i])
	})
}

// list records n candidates with the scores that some plugins gave them.
func (s *draft) list(n, plugins int, row func(i int) (uint32, int64), score func(i, plugin int) (name string, raw, normalized, weighted int64)) {
	scores := slices.Grow(s.cycle.scores[:0], n*plugins)
	s.cycle.scores = scores
	for i := range n {
		row, total := row(i)
		for p := range plugins {
			name, raw, normalized, weighted := score(i, p)
			scores = append(scores, report.Score{Plugin: name, Raw: raw, Normalized: normalized, Weighted: weighted})
		}
		from := len(scores) - plugins
		s.attempt.Candidates = append(s.attempt.Candidates, report.Candidate{
			Node: s.in.Snapshot.Name(row), Total: total, Scores: scores[from:len(scores):len(scores)],
		})
	}
	if feeding := s.in.Pipeline.Feeding(); len(feeding) > 0 && plugins > 0 {
		s.feeds(feeding, row)
	}
}

// feeds records what feeds say of the candidates, of those that the plugins read which gave them scores.
func (s *draft) feeds(feeding []*plugin.Info, row func(i int) (uint32, int64)) {
	all := s.cycle.feeds[:0]
	for i := range s.attempt.Candidates {
		c := &s.attempt.Candidates[i]
		at, _ := row(i)
		from := len(all)
		for _, info := range feeding {
			if !slices.ContainsFunc(c.Scores, func(by report.Score) bool { return by.Plugin == info.Name }) {
				continue
			}
			for _, feed := range info.Feeds {
				name, _, _ := strings.Cut(feed, ":")
				cell := s.in.Snapshot.Nodes.Cell(at, s.in.Snapshot.Feed(name))
				all = append(all, report.FeedValue{Plugin: info.Name, Feed: feed, Value: cell.Value, State: cell.State, At: cell.At})
			}
		}
		c.Feeds = all[from:len(all):len(all)]
	}
	s.cycle.feeds = all
}
