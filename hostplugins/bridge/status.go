package bridge

import (
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// statusOf converts the status of a hosted plugin. The codes have the same numbers on both
// sides (abi.Code).
func statusOf(s *framework.Status) *plugin.Status {
	if s.IsSuccess() {
		return nil
	}
	out := &plugin.Status{Code: abi.Code(s.Code()), Reasons: s.Reasons()}
	if out.Code != abi.Error {
		return out
	}
	// AsError's message is the first reason, if there is one.
	if err := s.AsError(); len(out.Reasons) > 0 && err.Error() == out.Reasons[0] {
		out.Err, out.Reasons = err, out.Reasons[1:]
	}
	return out
}

// frameworkStatus converts a status of the pipeline for a hosted plugin.
func frameworkStatus(s *plugin.Status) *framework.Status {
	if s.Success() {
		return nil
	}
	out := framework.NewStatus(framework.Code(s.Code), s.Reasons...)
	if s.Err != nil {
		out = out.WithError(s.Err)
	}
	return out.WithPlugin(s.Plugin)
}
