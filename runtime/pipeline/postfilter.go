package pipeline

import (
	"fmt"
	"slices"

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
	// Status has the reasons of all plugins; nil for success.
	Status *plugin.Status
}

// PostFilter runs the PostFilter plugins. Success and
// UnschedulableAndUnresolvable end the chain; otherwise the last nomination that
// means something counts, and the reasons of all plugins are given. extenders may
// be nil. What is counted as rows of a call is its hypothetical nodes.
func (r *Run) PostFilter(extenders plugin.PreemptionExtender) PostFilterOutcome {
	watch := clock.Start()
	out := r.postFilter(extenders)
	r.ran(abi.PostFilter, out.Status, watch)
	return out
}

func (r *Run) postFilter(extenders plugin.PreemptionExtender) PostFilterOutcome {
	// Hypothetical nodes are judged in rows of their own, after those that plugins read.
	w := &whatIf{run: r}
	d := &plugin.Diagnosis{Codes: slices.Clone(r.Outcome.Codes[:r.Cycle.Snapshot.Len()]), WhatIf: w, Extenders: extenders}
	var out PostFilterOutcome
	for _, s := range r.own.postFilter {
		before, watch := w.nodes, clock.Start()
		result, answer := s.plugin.PostFilter(&r.Cycle, d)
		r.timings.add(s.index, abi.PostFilter, w.nodes-before, answer.CodeOf(), watch.Elapsed())
		if len(result.Allow) > 0 || len(result.Reject) > 0 {
			out.Directives = append(out.Directives, plugin.Directives{Plugin: s.info.Name, Allow: result.Allow, Reject: result.Reject})
		}
		if !answer.Success() {
			result.Preemption = plugin.Preemption{}
		}
		switch {
		case answer.Success(), answer.Is(abi.UnschedulableAndUnresolvable):
			out.Result, out.By, out.Status = result, s.info.Name, nil
			if !answer.Success() {
				out.Status = answer.By(s.info.Name)
			}
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
