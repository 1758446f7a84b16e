package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// Rejected says which plugin rejects a node, and why; empty if none is known to. The names of nodes are
// those of Rejection.Rows.
func (a *Attempt) Rejected(node string, name func(row uint32) string) string {
	for i := range a.Rejections {
		r := &a.Rejections[i]
		if slices.ContainsFunc(r.Rows, func(row uint32) bool { return name(row) == node }) {
			return fmt.Sprintf("%s rejects %s: %s", r.Plugin, node, strings.Join(r.Reasons, ", "))
		}
	}
	return ""
}

// RatherThan says why an attempt that chose a node did not choose another one; there may be none.
func (a *Attempt) RatherThan(other string, name func(row uint32) string) string {
	if a.Code != abi.Success || other == "" {
		return fmt.Sprintf("%d of %d nodes are feasible", a.Feasible, a.Nodes)
	}
	if rejected := a.Rejected(other, name); rejected != "" {
		return rejected
	}
	if a.Feasible == 1 {
		return "no other node is feasible"
	}
	if len(a.Candidates) == 0 {
		return fmt.Sprintf("%d nodes are feasible", a.Feasible)
	}
	best := &a.Candidates[0]
	at := slices.IndexFunc(a.Candidates, func(c Candidate) bool { return c.Node == other })
	if at < 0 {
		return fmt.Sprintf("%s scores %d and %s at most %d", best.Node, best.Total, other, a.Candidates[len(a.Candidates)-1].Total)
	}
	if c := &a.Candidates[at]; c.Total != best.Total {
		return fmt.Sprintf("%s scores %d and %s %d%s", best.Node, best.Total, other, c.Total, decisive(best, c))
	}
	return fmt.Sprintf("%s and %s score the same, %d", best.Node, other, best.Total)
}

// decisive names the plugin whose score differs most in favour of the better node.
func decisive(better, other *Candidate) string {
	plugin, most := "", int64(0)
	for i := range min(len(better.Scores), len(other.Scores)) {
		if d := better.Scores[i].Weighted - other.Scores[i].Weighted; d > most {
			plugin, most = better.Scores[i].Plugin, d
		}
	}
	if plugin == "" {
		return ""
	}
	return fmt.Sprintf(" (%s: %d more)", plugin, most)
}
