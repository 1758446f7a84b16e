package cycle

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// extendersFilter asks the extenders about the rows that pass all filters.
func (s *draft) extendersFilter(rows []uint32) ([]uint32, *plugin.Status) {
	if !s.in.Extenders.Filters() || len(rows) == 0 {
		return rows, nil
	}
	watch := clock.Start()
	standing, rejected, err := s.in.Extenders.Filter(&s.run.Cycle, rows)
	s.run.Measure(extender.Name, abi.Filter, len(rows), watch)
	if err != nil {
		return nil, plugin.Fail(err).By(extender.Name)
	}
	for _, r := range rejected {
		var texts []string
		if r.Reason != "" {
			texts = []string{r.Reason}
		}
		s.run.Reject(r.Row, extender.Name, r.Code, texts...)
	}
	return standing, nil
}

// extendersLet reports whether the extenders let the pod onto its nominated node.
// If not, or if they fail, that node is looked at once more with all others.
func (s *draft) extendersLet(rows []uint32) bool {
	row := rows[0]
	standing, status := s.extendersFilter(rows)
	if status.Success() && len(standing) > 0 {
		return true
	}
	s.run.Forget(row)
	return false
}

// extendersScore adds what the extenders say to the totals.
func (s *draft) extendersScore(rows []uint32) {
	if !s.in.Extenders.Prioritizes() {
		return
	}
	watch := clock.Start()
	for _, scores := range s.in.Extenders.Prioritize(&s.run.Cycle, slices.Clip(rows)) {
		s.run.AddScores(scores.Name, scores.Weight, scores.Scores)
	}
	s.run.Measure(extender.Name, abi.Score, len(rows), watch)
}

// preemptionExtender returns the extenders as preemption sees them; nil for none.
func (s *draft) preemptionExtender() plugin.PreemptionExtender {
	if s.in.Extenders == nil {
		return nil
	}
	return s.in.Extenders
}
