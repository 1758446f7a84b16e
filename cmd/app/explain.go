package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// gated says which plugin gates a pod, and why. A reason may begin with the plugin's name already.
func gated(by, why string) string { return "gated by " + by + ": " + strings.TrimPrefix(why, by+": ") }

// explain prints the last attempt to schedule a pod: the rejected nodes, grouped by
// reason, and the scores of the best nodes.
func (p *printer) explain(pod types.NamespacedName, e *sim.Explanation) {
	is := func(now, before string) string {
		if e.Left {
			return before
		}
		return now
	}
	why := e.Message
	if e.GatedBy != "" {
		why = "it is " + gated(e.GatedBy, why)
	}
	switch a := e.Attempt; {
	case a == nil:
		p.text("%s was not tried: %s.", pod, strings.TrimSuffix(why, "."))
		return
	case e.Resize:
		p.text("%s %s %s, where a resize in place %s after %s by profile %s:\n%s", pod, is("is on", "was on"), e.Node,
			is("waits", "waited"), count(e.FailedTries, "attempt"), a.Profile, why)
		if e.EvictedFor != "" {
			p.text("It was preempted for %s.", e.EvictedFor)
		}
	case e.Node != "":
		p.text("%s %s %s, placed at attempt %d by profile %s: %s.", pod, is("is on", "was on"), e.Node, e.FailedTries+1, a.Profile, looked(a))
		if e.EvictedFor != "" {
			p.text("It was preempted for %s.", e.EvictedFor)
		}
	default:
		p.text("%s %s after %s by profile %s:\n%s", pod, is("is pending", "was pending when it left,"), count(e.FailedTries, "attempt"), a.Profile, why)
	}
	p.attempt(e.Attempt)
}

// looked returns how many nodes an attempt evaluated.
func looked(a *report.Attempt) string {
	return fmt.Sprintf("%d of %s feasible, %d evaluated", a.Feasible, count(a.Nodes, "node"), a.Evaluated)
}

// attempt prints the result of an attempt.
func (p *printer) attempt(a *report.Attempt) {
	if len(a.Victims) > 0 {
		p.text("It is nominated to %s and waits until these pods are gone: %s.", a.Nominated, some(a.Victims, ", "))
	}
	p.printf("\n")
	p.rejections(a.Rejections)
	p.scores(a)
	for _, t := range a.Timings { // a running scheduler's answer has them as works
		if t.Faults > 0 {
			p.text("In this attempt %s had %s at %s.", t.Plugin, count(int(t.Faults), "fault"), t.Point)
		}
	}
}

func (p *printer) rejections(rejections []report.Rejection) {
	if len(rejections) == 0 {
		return
	}
	sorted := slices.Clone(rejections)
	slices.SortStableFunc(sorted, func(a, b report.Rejection) int { return cmp.Compare(b.Count, a.Count) })
	columns := []column{
		{head: "NODES", numbers: true}, {head: "REJECTED BY"}, {head: "REASON", least: 18}, {head: "EVICTING PODS"}, {head: "NAMES", least: 16},
	}
	rows := make([]table.Row, 0, len(sorted))
	for _, r := range sorted {
		rows = append(rows, table.Row{r.Count, r.Plugin, strings.Join(r.Reasons, ", "), eviction(r.Code), someOf(r.Nodes, r.Count, ", ")})
	}
	if tableWidth(fit(columns, rows, p.width)) > p.width {
		columns[3].head = "EVICTING\nPODS"
	}
	p.table(columns, rows)
	for _, r := range sorted {
		for _, d := range r.Details {
			p.text("%s, of %s: %s", r.Plugin, count(d.Nodes, "node"), d.Text)
		}
	}
}

// eviction returns in words what a verdict means for preemption.
func eviction(code abi.Code) string {
	switch code {
	case abi.Unschedulable:
		return "may help"
	case abi.UnschedulableAndUnresolvable:
		return "no help"
	}
	return code.String()
}

// scores prints a column for each plugin: the weighted score, and in brackets the raw
// one if normalizing or weighting changed it. If the table is too wide, plugins with
// equal scores for all nodes get a line of their own.
func (p *printer) scores(a *report.Attempt) {
	best := a.Candidates
	if len(best) == 0 || len(best[0].Scores) == 0 {
		return
	}
	shown := make([]int, len(best[0].Scores))
	for i := range shown {
		shown[i] = i
	}
	columns, rows := scoreTable(best, shown, false)
	var alike []string
	if p.tooWide(columns, rows) {
		columns, rows = scoreTable(best, shown, true)
	}
	if p.tooWide(columns, rows) {
		shown = slices.DeleteFunc(shown, func(i int) bool {
			first := best[0].Scores[i]
			for _, c := range best {
				if c.Scores[i] != first {
					return false
				}
			}
			alike = append(alike, first.Plugin+" "+score(first))
			return true
		})
		columns, rows = scoreTable(best, shown, true)
	}
	p.text("The best %d of %s by weighted score (raw score in brackets where it differs), the chosen one first:", len(best), count(a.Feasible, "feasible node"))
	p.printf("\n")
	p.table(columns, rows)
	if len(alike) > 0 {
		p.text("All of them have %s.", strings.Join(alike, ", "))
		p.printf("\n")
	}
	p.feeds(best)
}

// feeds prints what feeds said of the best nodes when plugins scored them.
func (p *printer) feeds(best []report.Candidate) {
	columns := []column{
		{head: "NODE", least: 16}, {head: "FEED", least: 16}, {head: "VALUE", numbers: true}, {head: "SAMPLED AT"}, {head: "READ BY"},
	}
	var rows []table.Row
	for _, c := range best {
		for _, f := range c.Feeds {
			name, unit, _ := strings.Cut(f.Feed, ":")
			value, at := fmt.Sprintf("%d %s", f.Value, unit), ""
			switch f.State {
			case abi.FeedNone:
				value = "none"
			case abi.FeedStale:
				value += ", stale"
			}
			if f.At > 0 {
				at = time.Unix(f.At, 0).UTC().Format(time.RFC3339)
			}
			rows = append(rows, table.Row{c.Node, name, value, at, f.Plugin})
		}
	}
	if len(rows) > 0 {
		p.text("What feeds said of them:")
		p.printf("\n")
		p.table(columns, rows)
	}
}

func (p *printer) tooWide(columns []column, rows []table.Row) bool {
	return tableWidth(natural(columns, rows)) > p.width
}

// scoreTable returns the columns of the plugins with the given indices. Narrow columns
// have their names broken into words.
func scoreTable(best []report.Candidate, shown []int, narrow bool) (columns []column, rows []table.Row) {
	columns = []column{{head: "NODE", least: 16}, {head: "TOTAL", numbers: true}}
	for _, i := range shown {
		name := best[0].Scores[i].Plugin
		if narrow {
			name = words(name)
		}
		columns = append(columns, column{head: name, numbers: true})
	}
	for _, c := range best {
		row := table.Row{c.Node, c.Total}
		for _, i := range shown {
			row = append(row, score(c.Scores[i]))
		}
		rows = append(rows, row)
	}
	return columns, rows
}

func score(s report.Score) string {
	switch s.Raw {
	case abi.NoScore:
		return fmt.Sprintf("%d (none)", s.Weighted)
	case s.Weighted:
		return fmt.Sprint(s.Weighted)
	}
	return fmt.Sprintf("%d (%d)", s.Weighted, s.Raw)
}

// words puts each word of a CamelCase name on a line of its own.
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('\n')
		}
		b.WriteRune(r)
	}
	return b.String()
}
