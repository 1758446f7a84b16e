package oracle

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/test/internal/compare"
)

// Report writes what was compared and what differed; with reasons also how often each reason of
// a verdict occurred.
func Report(w io.Writer, results []*Result, reasons bool) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tab, "subject\tcases\ttime\tverdicts\tfit\tU\tUAU\twhat-if\tskip\tscores\tvalues\thints Q/S\tother\tdiffer\tlisted")
	for _, r := range results {
		n := &r.Counts
		_, _ = fmt.Fprintf(tab, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\n", r.Name, n.Cases, r.Took.Round(time.Second/10), number(n.Verdicts),
			number(n.Code(abi.Success)), number(n.Code(abi.Unschedulable)), number(n.Code(abi.UnschedulableAndUnresolvable)), number(n.WhatIfs),
			number(n.Skips), number(n.Normalized), number(n.DistinctScores()), pair(n.HintsQueue, n.HintsSkip), other(n), n.Different-n.Listed, n.Listed)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if texts, times := r.Counts.Reasons(); reasons && len(texts) > 0 {
			_, _ = fmt.Fprintf(w, "\n%s:\n", r.Name)
			for _, text := range texts {
				_, _ = fmt.Fprintf(w, "%9d %s\n", times[text], text)
			}
		}
		for _, d := range r.Differences {
			_, _ = fmt.Fprintf(w, "\ncase %d: %s\n", d.Case, d)
		}
		for _, path := range r.Files {
			_, _ = fmt.Fprintf(w, "  shrunk: %s\n", path)
		}
		for _, err := range r.Errors {
			_, _ = fmt.Fprintf(w, "\n%s: %v\n", r.Name, err)
		}
	}
	return nil
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func pair(a, b int) string {
	if a+b == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", a, b)
}

// other names the counts that few subjects have.
func other(n *compare.Counts) string {
	var out []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{n.Gates, "gates"}, {n.Orders, "orders"}, {n.Rejected, "rejected at PreFilter"}, {n.NodeSets, "node sets"}, {n.Placements, "placements"},
		{n.NodeInfos, "NodeInfos"}, {n.Decisions, "decisions"}, {n.Placed, "placed"}, {n.Preemptions, "preemptions"}, {n.Trials, "trials of preemption"}, {n.Candidates, "candidates"}, {n.Victims, "victims"},
		{n.Violating, "against budgets"}, {n.Steps, "steps"}, {n.Refused, "refused by both"},
	} {
		if c.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}
