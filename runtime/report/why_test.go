package report_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
)

// TestRatherThan: the reason for one node and not another one is the plugin that rejects the other, or the plugin that
// tells them apart by its score.
func TestRatherThan(t *testing.T) {
	name := func(row uint32) string { return fmt.Sprintf("n%d", row) }
	scored := func(node string, first, second int64) report.Candidate {
		return report.Candidate{Node: node, Total: first + second, Scores: []report.Score{{Plugin: "A", Weighted: first}, {Plugin: "B", Weighted: second}}}
	}
	rejects := []report.Rejection{{Plugin: "F", Reasons: []string{"full", "old"}, Rows: []uint32{3, 4}, Count: 2}}
	best := []report.Candidate{scored("n1", 50, 30), scored("n2", 10, 40), scored("n5", 40, 40), scored("n6", 40, 5)}
	for _, c := range []struct {
		other       string
		attempt     report.Attempt
		want, short string
	}{
		{"n4", report.Attempt{Feasible: 4, Rejections: rejects, Candidates: best}, "F rejects n4: full, old", "F: full, old"},
		{"n2", report.Attempt{Feasible: 4, Rejections: rejects, Candidates: best}, "n1 scores 80 and n2 50 (A: 40 more)", "A scores more"},
		{"n6", report.Attempt{Feasible: 4, Candidates: best}, "n1 scores 80 and n6 45 (B: 25 more)", "B scores more"},
		{"n5", report.Attempt{Feasible: 4, Candidates: best}, "n1 and n5 score the same, 80", "the nodes score the same"},
		{"n9", report.Attempt{Feasible: 9, Candidates: best}, "n1 scores 80 and n9 at most 45", "other nodes score more"},
		{"n9", report.Attempt{Feasible: 1}, "no other node is feasible", "no other node is feasible"},
		{"n9", report.Attempt{Feasible: 9}, "9 nodes are feasible", "other nodes score more"},
		{"", report.Attempt{Feasible: 2, Nodes: 6, Candidates: best}, "2 of 6 nodes are feasible", "a node is feasible"},
		{"n1", report.Attempt{Code: abi.Unschedulable, Nodes: 6, PreFilter: "no claim"}, "0 of 6 nodes are feasible", "no claim"},
		{"n1", report.Attempt{Code: abi.Unschedulable, Nodes: 6, Rejections: slices.Concat([]report.Rejection{{Plugin: "G", Reasons: []string{"x"}, Count: 1}}, rejects)}, "0 of 6 nodes are feasible", "F: full, old"},
	} {
		if got := c.attempt.RatherThan(c.other, name); got != c.want {
			t.Errorf("%s: %q, want %q", c.other, got, c.want)
		}
		if got := c.attempt.InShort(c.other, name); got != c.short {
			t.Errorf("%s in short: %q, want %q", c.other, got, c.short)
		}
	}
	if got := (&report.Attempt{Rejections: rejects}).Rejected("n1", name); got != "" {
		t.Errorf("%q", got)
	}
}
