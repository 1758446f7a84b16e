package defaultpreemption

import (
	"cmp"
	"math"
	"strings"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// byImportance orders pods by descending priority, then by start time, earliest first. Names
// come last, so that the order depends on the pods alone.
func byImportance(a, b *state.Pod) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		cmp.Compare(started(a), started(b)),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
	)
}

// started returns when a pod started, in ns since 1970. A pod that has not started counts as
// starting now, after all others.
func started(pod *state.Pod) int64 {
	if at := pod.Object.Status.StartTime; at != nil {
		return at.UnixNano()
	}
	return math.MaxInt64
}

// harm is the cost of a preemption, most important criterion first.
type harm struct {
	violations int64 // of budgets
	highest    int64 // priority of the most important victim
	sum        int64 // of the priorities, each shifted to be at least 0, so that fewer victims cost less
	victims    int
	earliest   int64 // start time of the earliest victim of the highest priority, ns
}

// choose returns the candidate with the least harm, the first of several.
func choose(candidates []plugin.Candidate) *plugin.Candidate {
	best, least := &candidates[0], harmOf(&candidates[0])
	for i := range candidates[1:] {
		candidate := &candidates[i+1]
		if h := harmOf(candidate); h.less(&least) {
			best, least = candidate, h
		}
	}
	return best
}

func harmOf(c *plugin.Candidate) harm {
	h := harm{violations: c.PDBViolations, highest: int64(c.Victims[0].Priority), victims: len(c.Victims)}
	highest := c.Victims[0].Priority // an extender may have reordered the victims
	for _, pod := range c.Victims {
		highest = max(highest, pod.Priority)
		h.sum += int64(pod.Priority) + math.MaxInt32 + 1
	}
	h.earliest = math.MaxInt64
	for _, pod := range c.Victims {
		if pod.Priority == highest {
			h.earliest = min(h.earliest, started(pod))
		}
	}
	return h
}

// less reports whether h is less harm than o. A later start is less harm, since less work is
// lost.
func (h *harm) less(o *harm) bool {
	return cmp.Or(
		cmp.Compare(h.violations, o.violations),
		cmp.Compare(h.highest, o.highest),
		cmp.Compare(h.sum, o.sum),
		cmp.Compare(h.victims, o.victims),
		cmp.Compare(o.earliest, h.earliest),
	) < 0
}
