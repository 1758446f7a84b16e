package cycle

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/report"
)

// record groups the verdicts against nodes by plugin, code and reasons, in the
// order in which the search met them; nodes that PreFilter left out come last.
func (s *draft) record(subset []uint32, narrowedBy []string) {
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
// counts, the other writes into one array. groups is by number of verdict. Of a pod that
// is placed the lowest rows of each group are enough.
func (s *draft) group(groups []group) {
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
			g.plugin = by
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
			a.Rejections[g.rejection].Count, a.Rejections[g.rejection].Rows = g.size, rows[g.next:begin:begin]
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
	for i := range groups {
		if g := &groups[i]; g.size > 0 && a.Feasible == 0 {
			s.details(g.plugin, &a.Rejections[g.rejection])
		}
	}
	for i := range a.Rejections {
		a.Rejections[i].Rows = s.lowest(a.Rejections[i].Rows)
	}
}

// details adds what the plugin says besides.
func (s *draft) details(by int, r *report.Rejection) {
	for _, d := range s.run.Details(by, r.Rows) {
		r.Details = append(r.Details, report.Detail{Text: d.Text, Nodes: d.Rows})
	}
}

// lowest returns those of a group's rows that are recorded.
func (s *draft) lowest(rows []uint32) []uint32 {
	if s.attempt.Feasible > 0 && !s.cycle.config.AllRows {
		return rows[:min(len(rows), pipeline.LowestKept)]
	}
	return rows
}

// recordLeftOut adds the nodes that PreFilter left out, which count as
// UnschedulableAndUnresolvable.
func (s *draft) recordLeftOut(subset []uint32, narrowedBy []string) {
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
			Reasons: []string{pipeline.LeftOutReason(s.named(narrowedBy))}, Count: len(rows), Rows: s.lowest(rows),
		})
	}
}

// named is the plugins that the text about nodes names which PreFilter left out.
// As in kube-scheduler the one that rejected the nominated node is among them,
// since that was looked at before.
func (s *draft) named(narrowedBy []string) []string {
	row, known := s.in.Snapshot.Row(s.input.Pod.NominatedNode())
	if !known || s.run.Outcome.Number(row) == 0 {
		return narrowedBy
	}
	by, _ := s.run.Outcome.Group(row)
	return sortedSet(append(slices.Clone(narrowedBy), s.in.Pipeline.Plugins()[by].Name))
}
