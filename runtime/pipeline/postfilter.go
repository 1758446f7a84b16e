package pipeline

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// PostFilter runs the PostFilter plugins. Success and
// UnschedulableAndUnresolvable end the chain; otherwise the last nomination that
// means something counts, and the reasons of all plugins are given.
func (r *Run) PostFilter() (plugin.PostFilterResult, *plugin.Status) {
	d := &plugin.Diagnosis{Codes: r.Outcome.Codes[:r.Cycle.Snapshot.Len()]}
	var result plugin.PostFilterResult
	var rejected *plugin.Status
	for _, s := range r.p.postFilter {
		watch := clock.Start()
		nomination, answer := s.plugin.PostFilter(&r.Cycle, d)
		r.meter.add(s.index, abi.PostFilter, 0, watch)
		switch {
		case answer.Success():
			return nomination, nil
		case answer.Is(abi.UnschedulableAndUnresolvable):
			return nomination, answer.By(s.info.Name)
		case !answer.Rejected():
			return plugin.PostFilterResult{}, failed("PostFilter", s.info.Name, answer)
		}
		if nomination.Override {
			result = nomination
		}
		if rejected == nil {
			rejected = &plugin.Status{Code: abi.Unschedulable, Plugin: s.info.Name}
		}
		rejected.Reasons = append(rejected.Reasons, answer.Reasons...)
	}
	return result, rejected
}
