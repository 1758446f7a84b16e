package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim"
)

// explain prints how the last try of one pod went: the nodes that were rejected,
// grouped by reason, and the scores of the best ones.
func (p *printer) explain(pod types.NamespacedName, e *sim.Explanation) {
	switch a := e.Attempt; {
	case a == nil:
		p.printf("%s was not tried: %s.\n", pod, cmp.Or(strings.TrimSuffix(e.Message, "."), "it left before its turn"))
		return
	case e.Node != "":
		p.printf("%s is on %s, placed at try %d by profile %s: %d of %s feasible, %d looked at.\n\n",
			pod, e.Node, a.Try, a.Profile, a.Feasible, count(a.Nodes, "node"), a.Evaluated)
	default:
		p.printf("%s is pending after %s by profile %s:\n%s\n\n", pod, count(a.Try, "try"), a.Profile, e.Message)
	}
	p.rejections(e.Attempt.Rejections)
	p.scores(e.Attempt.Candidates)
}

func (p *printer) rejections(rejections []report.Rejection) {
	if len(rejections) == 0 {
		return
	}
	sorted := slices.Clone(rejections)
	slices.SortStableFunc(sorted, func(a, b report.Rejection) int { return cmp.Compare(len(b.Nodes), len(a.Nodes)) })
	rows := make([]table.Row, 0, len(sorted))
	for _, r := range sorted {
		rows = append(rows, table.Row{len(r.Nodes), r.Plugin, strings.Join(r.Reasons, ", "), r.Code.String(), some(r.Nodes, ", ")})
	}
	p.table(table.Row{"NODES", "REJECTED BY", "REASON", "STATUS", "NAMES"}, rows, 1)
}

// scores prints a column a plugin: the weighted score, and in brackets the raw
// one where normalising or weighting changed it.
func (p *printer) scores(candidates []report.Candidate) {
	if len(candidates) == 0 || len(candidates[0].Scores) == 0 {
		return
	}
	header := table.Row{"NODE", "TOTAL"}
	numbers := []int{2}
	for i, s := range candidates[0].Scores {
		header = append(header, s.Plugin)
		numbers = append(numbers, i+3)
	}
	rows := make([]table.Row, 0, len(candidates))
	for _, c := range candidates {
		row := table.Row{c.Node, c.Total}
		for _, s := range c.Scores {
			cell := fmt.Sprint(s.Weighted)
			if s.Raw != s.Weighted {
				cell += fmt.Sprintf(" (%d)", s.Raw)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	p.printf("Best nodes by weighted score (raw score in brackets):\n\n")
	p.table(header, rows, numbers...)
}
