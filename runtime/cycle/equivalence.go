package cycle

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
)

// byClass places the pod by what is kept of its equivalence class. It returns false if that is
// not possible, or if no node fits; then what is known of nodes is in the run.
func (s *draft) byClass(subset []uint32) bool {
	n := s.in.Snapshot.Len()
	if subset != nil || s.input.Pod.NominatedNode() != "" || s.in.Extenders.Filters() || s.in.Extenders.Prioritizes() || s.want(n) < n {
		return false
	}
	class := s.run.Class()
	if class == nil {
		return false
	}
	rows := class.Feasible()
	if len(rows) == 0 {
		return false
	}
	s.cycle.start %= n
	s.attempt.Evaluated, s.attempt.Feasible = n, len(rows)
	class.Groups(s.cycle.config.AllRows, func(by *plugin.Info, code abi.Code, reasons []string, size int, rows []uint32) {
		s.attempt.Rejections = append(s.attempt.Rejections, report.Rejection{Plugin: by.Name, Code: code, Reasons: reasons, Count: size, Rows: rows})
	})
	if len(rows) == 1 {
		s.only(rows[0])
		return true
	}
	if status := s.run.PreScore(rows); !status.Success() {
		s.fail(status)
		return true
	}
	if !class.Sum() {
		s.score(rows)
		return true
	}
	if !class.Decides() {
		if status := class.Score(rows); !status.Success() {
			s.fail(status)
		} else {
			s.take(rows)
		}
		return true
	}
	best := s.bestOf(class)
	s.d.Node = s.in.Snapshot.Nodes.Node[best]
	s.tied(rows, func(i int) bool { return class.Tree().Total(rows[i]) == class.Tree().Total(best) })
	s.candidatesOf(class, best)
	return true
}

// bestOf returns the row of the highest total, ties broken as configured.
func (s *draft) bestOf(class *pipeline.Class) uint32 {
	tree := class.Tree()
	_, ties := tree.Best()
	if s.cycle.config.TieBreak == Random {
		return tree.Tie(s.pick(ties))
	}
	rank := s.in.Snapshot.Nodes.Rank
	best := tree.Tie(0)
	for k := 1; k < ties; k++ {
		if row := tree.Tie(k); rank[row] < rank[best] {
			best = row
		}
	}
	return best
}

// candidatesOf records the best rows with their scores, the chosen one first and the
// others by total, then by row.
func (s *draft) candidatesOf(class *pipeline.Class, chosen uint32) {
	n := min(s.cycle.config.Candidates, s.attempt.Feasible)
	top := class.Tree().Top(s.cycle.best[:0], n)
	at := slices.Index(top, chosen)
	if at < 0 {
		at = n - 1
	}
	copy(top[1:at+1], top[:at])
	top[0] = chosen
	s.cycle.best = top
	s.list(len(top), class.Len(), func(i int) (uint32, int64) { return top[i], class.Tree().Total(top[i]) }, func(i, p int) (string, int64, int64, int64) {
		return class.At(p, top[i])
	})
}
