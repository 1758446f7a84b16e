package cycle

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
)

// search is one run of Schedule.
type search struct {
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

// place goes from PreFilter to the choice of a node, or to PostFilter.
func (s *search) place() {
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
		s.reject(status, s.in.Pipeline.PostFilters())
		return
	case !status.Success():
		s.fail(status)
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
		s.noFit(s.in.Pipeline.PostFilters())
		return
	}
	s.choose(feasible)
}

// feasible returns the rows that pass all filters. The nominated node is tried
// first and alone, since it is likely the only one.
func (s *search) feasible(subset []uint32) (rows []uint32, ok bool) {
	if node := s.input.Pod.NominatedNode(); node != "" {
		if row, known := s.in.Snapshot.Row(node); known {
			feasible, _, status := s.run.Filter([]uint32{row}, 0, 1)
			if status.Success() && len(feasible) > 0 && s.extendersLet(feasible) {
				s.nominated = true
				return feasible, true
			}
		}
	}
	rows = subset
	if subset == nil {
		rows = s.run.Rows(s.in.Snapshot.Len())
	}
	want := feasibleToFind(s.in.Pipeline.Percentage(), len(rows))
	if !s.in.Pipeline.Scores() && !s.in.Extenders.Prioritizes() && !s.in.Extenders.Filters() {
		want = 1
	}
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

// keepNominated lets the verdict on the nominated node count although PreFilter
// left the node out: it was looked at before.
func (s *search) keepNominated(subset []uint32) {
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
func (s *search) reject(status *plugin.Status, postFilter bool) {
	codes := s.run.Outcome.Codes
	for row := range s.in.Snapshot.Len() {
		codes[row] = status.Code
	}
	s.addRejector(status.Plugin, status.Code)
	s.attempt.PreFilter = status.Message()
	s.attempt.Rejections = append(s.attempt.Rejections, report.Rejection{
		Plugin: status.Plugin, Code: status.Code, Reasons: status.AllReasons(),
		Rows: s.run.Rows(s.in.Snapshot.Len()),
	})
	s.noFit(postFilter)
}

// noFit gives PostFilter its chance and words the message.
func (s *search) noFit(postFilter bool) {
	if postFilter {
		out := s.run.PostFilter(s.preemptionExtender())
		s.d.Nomination, s.d.NominatedBy, s.d.Asked = out.Result, out.By, out.Asked
		s.attempt.PostFilter = out.Status.Message()
	} else {
		s.d.Nomination = plugin.PostFilterResult{Override: true}
	}
	counts := s.cycle.counts
	clear(counts)
	for i := range s.attempt.Rejections {
		r := &s.attempt.Rejections[i]
		for _, reason := range r.Reasons {
			counts[reason] += len(r.Rows)
		}
	}
	s.attempt.Message = report.NoFit(s.attempt.Nodes, s.attempt.PreFilter, counts, s.attempt.PostFilter)
	s.d.Status = &plugin.Status{Code: abi.Unschedulable, Reasons: []string{s.attempt.Message}}
	s.d.Rejectors = sortedSet(s.d.Rejectors)
	s.d.Pending = sortedSet(s.d.Pending)
}

func (s *search) addRejector(name string, code abi.Code) {
	if name == "" {
		return
	}
	s.d.Rejectors = append(s.d.Rejectors, name)
	if code == abi.Pending {
		s.d.Pending = append(s.d.Pending, name)
	}
}

// record groups the verdicts against nodes by plugin, code and reasons, in the
// order in which the search met them; nodes that PreFilter left out come last.
func (s *search) record(subset []uint32, narrowedBy []string) {
	o, a := &s.run.Outcome, s.attempt
	a.Evaluated = len(o.Evaluated)
	if n := o.Groups(); n > 0 {
		s.cycle.groups = slices.Grow(s.cycle.groups[:0], n)[:n]
		clear(s.cycle.groups)
		s.group(s.cycle.groups)
	}
	if subset != nil && !s.nominated {
		s.recordLeftOut(subset, narrowedBy)
	}
}

// group fills in the rejections in two passes over the evaluated rows: one
// counts, the other writes into one array. groups is by number of verdict.
func (s *search) group(groups []group) {
	o, a := &s.run.Outcome, s.attempt
	total := 0
	for _, row := range o.Evaluated {
		number := o.Number(row)
		if number == 0 {
			continue
		}
		g := &groups[number-1]
		if g.size == 0 {
			g.rejection = len(a.Rejections)
			by, _ := o.Group(row)
			name := s.in.Pipeline.Plugins()[by].Name
			a.Rejections = append(a.Rejections, report.Rejection{Plugin: name, Code: o.Codes[row], Reasons: o.Texts(row)})
			if a.Feasible == 0 {
				s.addRejector(name, o.Codes[row])
			}
		}
		g.size++
		total++
	}
	rows := slices.Grow(s.cycle.rows[:0], total)[:total]
	s.cycle.rows = rows
	begin := 0
	for i := range groups {
		if g := &groups[i]; g.size > 0 {
			g.next, begin = begin, begin+g.size
			a.Rejections[g.rejection].Rows = rows[g.next:begin:begin]
		}
	}
	for _, row := range o.Evaluated {
		if number := o.Number(row); number != 0 {
			g := &groups[number-1]
			rows[g.next] = row
			g.next++
		}
	}
	if e := o.Evaluated; s.unordered || len(e) > 0 && e[0] > e[len(e)-1] { // the search went round the end
		for i := range a.Rejections {
			slices.Sort(a.Rejections[i].Rows)
		}
	}
}

// recordLeftOut adds the nodes that PreFilter left out, which count as
// UnschedulableAndUnresolvable.
func (s *search) recordLeftOut(subset []uint32, narrowedBy []string) {
	o := &s.run.Outcome
	rows := make([]uint32, 0, s.in.Snapshot.Len()-len(subset))
	for row := range uint32(s.in.Snapshot.Len()) {
		if len(subset) > 0 && subset[0] == row {
			subset = subset[1:]
			continue
		}
		if o.Number(row) != 0 { // the nominated node, see keepNominated
			continue
		}
		o.Codes[row] = abi.UnschedulableAndUnresolvable
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		s.attempt.Rejections = append(s.attempt.Rejections, report.Rejection{
			Plugin: slices.Min(narrowedBy), Code: abi.UnschedulableAndUnresolvable,
			Reasons: []string{pipeline.LeftOut(s.named(narrowedBy))}, Rows: rows,
		})
	}
}

// named is the plugins that the text about nodes names which PreFilter left out.
// As in kube-scheduler the one that rejected the nominated node is among them,
// since that was looked at before.
func (s *search) named(narrowedBy []string) []string {
	row, known := s.in.Snapshot.Row(s.input.Pod.NominatedNode())
	if !known || s.run.Outcome.Number(row) == 0 {
		return narrowedBy
	}
	by, _ := s.run.Outcome.Group(row)
	return sortedSet(append(slices.Clone(narrowedBy), s.in.Pipeline.Plugins()[by].Name))
}

func sortedSet(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
