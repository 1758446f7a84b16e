package experiment

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/report"
)

// candidates is how many of the best nodes of an attempt are known with their scores.
const candidates = 10

// reasons gathers why pods went where they went, and not where they went on the other side.
type reasons struct {
	other *side // may be nil
	why   map[types.UID]string
}

func newReasons(other *side) *reasons { return &reasons{other, make(map[types.UID]string)} }

// attempted asks an attempt that chose a node.
func (r *reasons) attempted(a *report.Attempt, name func(row uint32) string) {
	if a.Code != abi.Success || r.other == nil {
		return
	}
	other := r.other.pods[a.UID]
	there := other.node
	if there == "" {
		there = other.evictedFrom
	}
	if there == a.Node {
		delete(r.why, a.UID)
		return
	}
	r.why[a.UID] = why(a, there, name)
}

// why says why an attempt chose its node and not another one; there may be none.
func why(a *report.Attempt, there string, name func(row uint32) string) string {
	if there == "" {
		return fmt.Sprintf("%d of %d nodes were feasible", a.Feasible, a.Nodes)
	}
	for i := range a.Rejections {
		r := &a.Rejections[i]
		for _, row := range r.Rows {
			if name(row) == there {
				return fmt.Sprintf("%s rejected %s: %s", r.Plugin, there, strings.Join(r.Reasons, ", "))
			}
		}
	}
	if a.Feasible == 1 {
		return "no other node was feasible"
	}
	if len(a.Candidates) == 0 {
		return fmt.Sprintf("%d nodes were feasible", a.Feasible)
	}
	best := &a.Candidates[0]
	for i := range a.Candidates {
		c := &a.Candidates[i]
		if c.Node != there {
			continue
		}
		if c.Total == best.Total {
			return fmt.Sprintf("%s and %s scored the same, %d", a.Node, there, best.Total)
		}
		return fmt.Sprintf("%s scored %d and %s %d%s", a.Node, best.Total, there, c.Total, decisive(best, c))
	}
	last := &a.Candidates[len(a.Candidates)-1]
	return fmt.Sprintf("%s scored %d and %s at most %d", a.Node, best.Total, there, last.Total)
}

// decisive names the plugin whose score differs most in favour of the better node.
func decisive(better, other *report.Candidate) string {
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
