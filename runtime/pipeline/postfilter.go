package pipeline

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// PostFilterOutcome is the outcome of the PostFilter plugins.
type PostFilterOutcome struct {
	// Result is that of the plugin By: the one that ended the chain, or the last
	// one that had something to say about the nomination. Its Preemption is empty
	// unless the status is Success.
	Result plugin.PostFilterResult
	By     string
	// Directives are what plugins ask for with waiting pods.
	Directives []plugin.Directives
	// Status has the reasons of all plugins, or what the one that succeeded has to say.
	Status *plugin.Status
	// Indebted tells that the debt kept pods from being removed.
	Indebted bool
}

// PostFilter runs the PostFilter plugins. Success and
// UnschedulableAndUnresolvable end the chain; otherwise the last nomination that
// means something counts, and the reasons of all plugins are given. extenders may
// be nil. What is counted as rows of a call is its hypothetical nodes.
func (r *Run) PostFilter(extenders plugin.PreemptionExtender, debt plugin.Debt) PostFilterOutcome {
	watch := clock.Start()
	w := &whatIf{run: r}
	d := r.diagnosis(w, extenders, debt)
	out := r.postFilter(d, w)
	r.checkNominated(&out)
	out.Indebted = d.Indebted && out.Status != nil
	r.ran(abi.PostFilter, out.Status, watch)
	return out
}

// diagnosis says why no node fits. Hypothetical nodes are judged in rows of their own, after those that plugins read.
func (r *Run) diagnosis(w *whatIf, extenders plugin.PreemptionExtender, debt plugin.Debt) *plugin.Diagnosis {
	d := &plugin.Diagnosis{Codes: slices.Clone(r.Outcome.Codes[:r.Cycle.Snapshot.Len()]), WhatIf: w, Extenders: extenders}
	if own := r.own.own; own != nil {
		d.Own, d.Attached = own, r.onWord
	}
	if debt.Reason != "" {
		d.Own, d.Debt = debt.Own, debt.Reason
	}
	return d
}

func (r *Run) postFilter(d *plugin.Diagnosis, w *whatIf) PostFilterOutcome {
	var out PostFilterOutcome
	for _, s := range r.own.postFilter {
		before, watch := w.nodes, clock.Start()
		var result plugin.PostFilterResult
		answer := r.p.ask(s.info, abi.PostFilter, func() (answer *plugin.Status) {
			result, answer = s.plugin.PostFilter(&r.Cycle, d)
			return answer
		})
		r.timings.add(s.index, abi.PostFilter, w.nodes-before, answer.CodeOf(), watch.Elapsed())
		if len(result.Allow) > 0 || len(result.Reject) > 0 {
			out.Directives = append(out.Directives, plugin.Directives{Plugin: s.info.Name, Allow: result.Allow, Reject: result.Reject})
		}
		if why := r.spare(d, &result); why != "" {
			result, answer = plugin.PostFilterResult{}, plugin.NewStatus(abi.Unschedulable, "preemption: "+why)
		}
		if reason := r.checkNomination(s.info, &result); reason != "" {
			answer = plugin.NewStatus(abi.Unschedulable, reason)
		}
		if !answer.Success() {
			result.Preemption = plugin.Preemption{}
		}
		switch {
		case answer.Success(), answer.Is(abi.UnschedulableAndUnresolvable):
			out.Result, out.By, out.Status = result, s.info.Name, answer.By(s.info.Name)
			return out
		case !answer.Rejected():
			out.Result, out.By = plugin.PostFilterResult{}, ""
			out.Status = broken(answer).By(s.info.Name)
			return out
		}
		if result.Override {
			out.Result, out.By = result, s.info.Name
		}
		if out.Status == nil {
			out.Status = &plugin.Status{Code: abi.Unschedulable, Plugin: s.info.Name}
		}
		out.Status.Reasons = append(out.Status.Reasons, answer.Reasons...)
	}
	return out
}

// broken turns an answer that is no verdict into an Error. kube-scheduler adds no
// words to it here, and the text ends in a message that people know.
func broken(answer *plugin.Status) *plugin.Status {
	err := answer.AsError()
	if err == nil {
		err = fmt.Errorf("unexpected status %s", answer.CodeOf())
	}
	return plugin.Fail(err)
}

// spare holds what PostFilter plugins and extenders chose to the rule of [plugin.Diagnosis.Stays]. It returns why a victim
// must stay, if one must; nominations of pods that must stay are not cleared.
func (r *Run) spare(d *plugin.Diagnosis, result *plugin.PostFilterResult) (why string) {
	row, ok := r.Cycle.Snapshot.Row(result.NominatedNode)
	if !ok {
		return ""
	}
	p := &result.Preemption
	for _, victim := range p.Victims {
		if why = d.Stays(row, victim); why != "" {
			return why
		}
	}
	if len(p.ClearNominations) == 0 || d.Debt == "" && !d.OnWord(row) {
		return ""
	}
	stay := make(map[types.UID]bool)
	for _, pods := range r.Cycle.Nominations.Nodes {
		for _, pod := range pods {
			stay[pod.UID] = d.Stays(row, pod) != ""
		}
	}
	p.ClearNominations = slices.DeleteFunc(slices.Clone(p.ClearNominations), func(uid types.UID) bool { return stay[uid] })
	return ""
}

// onWord reports whether a row was rejected on the word of an attached plugin.
func (r *Run) onWord(row uint32) bool {
	if r.heldOnWord {
		return true
	}
	index, number := r.Outcome.Group(row)
	return number != 0 && r.p.infos[index].Namespaces != nil
}
