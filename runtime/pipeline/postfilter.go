package pipeline

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// PostFilter runs the PostFilter plugins. Success and
// UnschedulableAndUnresolvable end the chain; otherwise the last nomination that
// means something counts, and the reasons of all plugins are given. asked is what
// plugins want done with waiting pods.
func (r *Run) PostFilter() (result plugin.PostFilterResult, asked []Asked, status *plugin.Status) {
	// Trials are judged in rows of their own, after those that plugins read.
	d := &plugin.Diagnosis{Codes: slices.Clone(r.Outcome.Codes[:r.Cycle.Snapshot.Len()]), WhatIf: (*whatIf)(r)}
	var rejected *plugin.Status
	for _, s := range r.p.postFilter {
		watch := clock.Start()
		nomination, answer := s.plugin.PostFilter(&r.Cycle, d)
		r.meter.add(s.index, abi.PostFilter, 0, watch)
		if len(nomination.Allow) > 0 || len(nomination.Reject) > 0 {
			asked = append(asked, Asked{Plugin: s.info.Name, Directives: plugin.Directives{Allow: nomination.Allow, Reject: nomination.Reject}})
		}
		switch {
		case answer.Success():
			return nomination, asked, nil
		case answer.Is(abi.UnschedulableAndUnresolvable):
			return nomination, asked, answer.By(s.info.Name)
		case !answer.Rejected():
			return plugin.PostFilterResult{}, asked, failed("PostFilter", s.info.Name, answer)
		}
		if nomination.Override {
			result = nomination
		}
		if rejected == nil {
			rejected = &plugin.Status{Code: abi.Unschedulable, Plugin: s.info.Name}
		}
		rejected.Reasons = append(rejected.Reasons, answer.Reasons...)
	}
	return result, asked, rejected
}
