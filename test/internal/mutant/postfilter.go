package mutant

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// PostFilter implements plugin.PostFilter.
func (w *wrapped) PostFilter(c *plugin.Cycle, d *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	seen := *d
	if w.m.candidates != nil {
		seen.Extenders = mistaken{change: w.m.candidates, next: d.Extenders}
	}
	result, status := w.inner.(plugin.PostFilter).PostFilter(w.cycle(c), &seen)
	if w.m.result != nil {
		w.m.result(&result)
	}
	return result, w.answer(status)
}

// mistaken changes the candidates before extenders see them.
type mistaken struct {
	change func([]plugin.Candidate) []plugin.Candidate
	next   plugin.PreemptionExtender
}

// ProcessPreemption implements plugin.PreemptionExtender.
func (m mistaken) ProcessPreemption(c *plugin.Cycle, candidates []plugin.Candidate) ([]plugin.Candidate, error) {
	candidates = m.change(candidates)
	if m.next == nil {
		return candidates, nil
	}
	return m.next.ProcessPreemption(c, candidates)
}

func eachCandidate(change func(c *plugin.Candidate)) func([]plugin.Candidate) []plugin.Candidate {
	return func(all []plugin.Candidate) []plugin.Candidate {
		for i := range all {
			change(&all[i])
		}
		return all
	}
}

func preemptionMutants() []Mutant {
	return []Mutant{
		{Name: "the least important victim is spared", candidates: eachCandidate(func(c *plugin.Candidate) {
			c.Victims = c.Victims[:max(1, len(c.Victims)-1)]
		})},
		{Name: "victims the wrong way round", candidates: eachCandidate(func(c *plugin.Candidate) { slices.Reverse(c.Victims) })},
		{Name: "budgets ignored", candidates: eachCandidate(func(c *plugin.Candidate) { c.PDBViolations = 0 })},
		{Name: "a candidate less", candidates: func(all []plugin.Candidate) []plugin.Candidate { return all[min(1, len(all)-1):] }},
		{Name: "pods of the same priority leave too", pod: func(p *v1.Pod) {
			if p.Spec.Priority != nil {
				*p.Spec.Priority++
			}
		}},
		{Name: "preemptionPolicy ignored", pod: func(p *v1.Pod) { p.Spec.PreemptionPolicy = nil }},
		{Name: "keeps the nomination", result: func(r *plugin.PostFilterResult) { r.Override = false }},
		{Name: "others keep their promise", result: func(r *plugin.PostFilterResult) { r.Preemption.ClearNominations = nil }},
		{Name: "spares the first of the chosen", result: func(r *plugin.PostFilterResult) {
			r.Preemption.Victims = r.Preemption.Victims[min(1, len(r.Preemption.Victims)):]
		}},
		{Name: "wrong word in a reason", status: func(s *plugin.Status) *plugin.Status {
			if s.Is(abi.Unschedulable) {
				return plugin.NewStatus(s.Code, s.Reasons[0]+".")
			}
			return s
		}},
	}
}
