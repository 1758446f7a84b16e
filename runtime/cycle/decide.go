package cycle

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/extender"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
)

// draft is a Decision in the making: one run of Schedule.
type draft struct {
	cycle   *Cycle
	run     *pipeline.Run
	in      *Input
	d       *Decision
	attempt *report.Attempt
	input   plugin.Cycle
	// nominated tells that the pod's nominated node was taken.
	nominated bool
	// unordered tells that rows were looked at out of their order.
	unordered bool
}

// decide goes from PreFilter to the choice of a node, or to PostFilter.
func (s *draft) decide() {
	snapshot := s.in.Snapshot
	if snapshot.Len() == 0 {
		s.fail(&plugin.Status{Code: abi.UnschedulableAndUnresolvable, Err: errNoNodes})
		return
	}
	s.run.Begin(s.input)
	if f := s.in.Pipeline.Unenforced(s.input.Pod); f != 0 {
		// Nobody who left would help.
		s.reject(unenforced(f), false)
		return
	}
	subset, narrowedBy, status := s.run.PreFilter()
	switch {
	case status.Rejected():
		s.d.Rejectors = append(s.d.Rejectors, narrowedBy...)
		s.reject(status, s.in.Pipeline.HasPostFilter())
		return
	case !status.Success():
		s.fail(status)
		return
	}
	if s.byClass(subset) {
		return
	}
	feasible, ok := s.feasible(subset)
	if !ok {
		return
	}
	s.attempt.Feasible = len(feasible)
	s.record(subset, narrowedBy)
	if len(feasible) == 0 {
		s.d.Rejectors = append(s.d.Rejectors, narrowedBy...)
		s.noFit(s.in.Pipeline.HasPostFilter())
		return
	}
	s.choose(feasible)
}

// feasible returns the rows that pass all filters. The nominated node is tried
// first and alone, since it is likely the only one.
func (s *draft) feasible(subset []uint32) (rows []uint32, ok bool) {
	if node := s.input.Pod.NominatedNode(); node != "" {
		if row, known := s.in.Snapshot.Row(node); known {
			feasible, _, status := s.run.Filter([]uint32{row}, 0, 1)
			_, in := slices.BinarySearch(subset, row)
			switch {
			case !status.Success() || len(feasible) == 0:
			case subset != nil && !in: // PreFilter left it out
			case s.extendersLet(feasible):
				s.nominated = true
				return feasible, true
			}
		}
	}
	rows = subset
	if subset == nil {
		rows = s.run.Rows(s.in.Snapshot.Len())
	}
	want := s.want(len(rows))
	start := 0
	if want < len(rows) {
		start = s.cycle.start % len(rows)
	}
	feasible, looked, status := s.run.Filter(rows, start, want)
	s.keepNominated(subset)
	s.cycle.start = (s.cycle.start + looked) % s.in.Snapshot.Len()
	if status.Success() {
		feasible, status = s.extendersFilter(feasible)
	}
	if !status.Success() {
		s.fail(status)
		return nil, false
	}
	return feasible, true
}

// want returns how many feasible rows among n are enough.
func (s *draft) want(n int) int {
	if !s.in.Pipeline.HasScore() && !s.in.Extenders.Prioritizes() && !s.in.Extenders.Filters() {
		return 1
	}
	return feasibleToFind(s.in.Pipeline.Percentage(), n)
}

// keepNominated lets the verdict on the nominated node count although PreFilter
// left the node out: it was looked at before.
func (s *draft) keepNominated(subset []uint32) {
	row, known := s.in.Snapshot.Row(s.input.Pod.NominatedNode())
	if !known || subset == nil {
		return
	}
	o := &s.run.Outcome
	if _, in := slices.BinarySearch(subset, row); !in && o.Number(row) != 0 {
		o.Evaluated = append(o.Evaluated, row)
		s.unordered = true
	}
}

// reject ends the cycle with one answer for all nodes.
func (s *draft) reject(status *plugin.Status, postFilter bool) {
	codes := s.run.Outcome.Codes
	for row := range s.in.Snapshot.Len() {
		codes[row] = status.Code
	}
	s.addRejector(status.Plugin, status.Code)
	s.attempt.PreFilter = status.Message()
	s.attempt.Rejections = append(s.attempt.Rejections, report.Rejection{
		Plugin: status.Plugin, Code: status.Code, Reasons: status.AllReasons(),
		Count: s.in.Snapshot.Len(), Rows: s.run.Rows(s.in.Snapshot.Len()),
	})
	s.noFit(postFilter)
}

// noFit gives PostFilter its chance and words the message.
func (s *draft) noFit(postFilter bool) {
	if postFilter {
		out := s.run.PostFilter(s.preemptionExtender(), s.in.Debt)
		if out.Indebted {
			s.addRejector(pipeline.Debt, abi.Unschedulable)
		}
		s.d.Nomination, s.d.NominatedBy, s.d.Directives = out.Result, out.By, out.Directives
		s.attempt.PostFilter = out.Status.Message()
	} else {
		s.d.Nomination = plugin.PostFilterResult{Override: true}
	}
	counts := s.cycle.counts
	clear(counts)
	for i := range s.attempt.Rejections {
		r := &s.attempt.Rejections[i]
		for _, reason := range r.Reasons {
			counts[reason] += r.Count
		}
		if len(r.Reasons) == 0 && r.Plugin != extender.Name { // or the numbers do not add up, and nobody knows who it was
			counts["node(s) were rejected by the plugin "+r.Plugin+", which gave no reason"] += r.Count
		}
	}
	s.attempt.Message = report.NoFit(s.attempt.Nodes, s.attempt.PreFilter, counts, s.attempt.PostFilter)
	s.d.Status = &plugin.Status{Code: abi.Unschedulable, Reasons: []string{s.attempt.Message}}
	s.d.Rejectors = sortedSet(s.d.Rejectors)
	s.d.Pending = sortedSet(s.d.Pending)
}

func (s *draft) addRejector(name string, code abi.Code) {
	if name == "" {
		return
	}
	s.d.Rejectors = append(s.d.Rejectors, name)
	if code == abi.Pending {
		s.d.Pending = append(s.d.Pending, name)
	}
}

func sortedSet(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
