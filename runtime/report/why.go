package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// Rejected says which plugin rejects a node, and why; empty if none is known to. The names of nodes are
// those of Rejection.Rows.
func (a *Attempt) Rejected(node string, name func(row uint32) string) string {
	if r := a.rejection(node, name); r != nil {
		return fmt.Sprintf("%s rejects %s: %s", r.Plugin, node, strings.Join(r.Reasons, ", "))
	}
	return ""
}

// rejection returns the one that a node is part of; nil if none is known.
func (a *Attempt) rejection(node string, name func(row uint32) string) *Rejection {
	for i := range a.Rejections {
		r := &a.Rejections[i]
		if slices.ContainsFunc(r.Rows, func(row uint32) bool { return name(row) == node }) {
			return r
		}
	}
	return nil
}

// InShort says what RatherThan does without numbers and names of nodes, to group pods by it. Of an attempt that chose no node
// it names the most frequent reason.
func (a *Attempt) InShort(other string, name func(row uint32) string) string {
	if a.Code != abi.Success {
		return a.dominant()
	}
	if other == "" {
		return "a node is feasible"
	}
	if r := a.rejection(other, name); r != nil {
		return r.inShort()
	}
	switch at := slices.IndexFunc(a.Candidates, func(c Candidate) bool { return c.Node == other }); {
	case a.Feasible == 1:
		return "no other node is feasible"
	case at < 0 || len(a.Candidates) == 0:
		return "other nodes score more"
	case a.Candidates[at].Total == a.Candidates[0].Total:
		return "the nodes score the same"
	default:
		plugin, _ := decisive(&a.Candidates[0], &a.Candidates[at])
		return cmp.Or(plugin, "another node") + " scores more"
	}
}

func (r *Rejection) inShort() string { return r.Plugin + ": " + strings.Join(r.Reasons, ", ") }

// dominant is the most frequent reason.
func (a *Attempt) dominant() string {
	if len(a.Rejections) > 0 {
		most := slices.MaxFunc(a.Rejections, func(x, y Rejection) int { return cmp.Compare(x.Count, y.Count) })
		return most.inShort()
	}
	return cmp.Or(a.PreFilter, a.Message)
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
		text := fmt.Sprintf("%s scores %d and %s %d", best.Node, best.Total, other, c.Total)
		if plugin, more := decisive(best, c); plugin != "" {
			text += fmt.Sprintf(" (%s: %d more)", plugin, more)
		}
		return text
	}
	return fmt.Sprintf("%s and %s score the same, %d", best.Node, other, best.Total)
}

// decisive names the plugin whose score differs most in favour of the better node, and says by how much; empty if none does.
func decisive(better, other *Candidate) (plugin string, more int64) {
	for i := range min(len(better.Scores), len(other.Scores)) {
		if d := better.Scores[i].Weighted - other.Scores[i].Weighted; d > more {
			plugin, more = better.Scores[i].Plugin, d
		}
	}
	return plugin, more
}
