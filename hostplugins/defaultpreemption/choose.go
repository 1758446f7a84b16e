package defaultpreemption

import (
	"cmp"
	"math"
	"strings"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// byImportance orders pods by descending priority, then by the time for which they
// have run. Names come last, so that the order depends on the pods alone.
func byImportance(a, b *state.Pod) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		cmp.Compare(started(a), started(b)),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
	)
}

// started returns when a pod started, in ns since 1970. One that has not starts
// now, which is after all others.
func started(pod *state.Pod) int64 {
	if at := pod.Object.Status.StartTime; at != nil {
		return at.UnixNano()
	}
	return math.MaxInt64
}

// harm is what a preemption costs, by falling weight.
type harm struct {
	violations int64 // of budgets
	highest    int64 // priority of the most important victim
	sum        int64 // of priorities, each from 0 up, so that fewer victims count less
	victims    int
	earliest   int64 // start of those of the highest priority, ns
}

// choose returns the candidate with the least harm, of several the first.
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
	highest := c.Victims[0].Priority // an extender may have put another one first
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

// less reports whether h is less harm. Who started last has lost the least.
func (h *harm) less(o *harm) bool {
	return cmp.Or(
		cmp.Compare(h.violations, o.violations),
		cmp.Compare(h.highest, o.highest),
		cmp.Compare(h.sum, o.sum),
		cmp.Compare(h.victims, o.victims),
		cmp.Compare(o.earliest, h.earliest),
	) < 0
}
