package module

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// FailurePolicy says what a fault of a plugin means for the pod.
type FailurePolicy string

// The policies.
const (
	// Fail fails the pod's attempt; the pod goes to the error backoff.
	Fail FailurePolicy = "Fail"
	// Ignore goes on as if the plugin were not in the profile.
	Ignore FailurePolicy = "Ignore"
)

// FailurePolicies are the policies of a plugin's points. The zero value has the
// defaults only.
type FailurePolicies struct {
	// All is for points that Points does not name; empty for the default.
	All FailurePolicy
	// Points is by the manifest's names of points; nil if none is named.
	Points map[string]FailurePolicy
}

// For returns the policy of a point: what is given, or the default, which is
// Ignore for scoring and for what comes too late to fail, and Fail for all else.
func (p FailurePolicies) For(point abi.Point) FailurePolicy {
	if policy, ok := p.Points[wire.PointName(point)]; ok {
		return policy
	}
	switch {
	case p.All != "":
		return p.All
	case point == abi.PreScore, point == abi.Score, point == abi.Normalize, point == abi.Unreserve, point == abi.PostBind:
		return Ignore
	}
	return Fail
}

// policyPoints are the points that a policy can be given for.
func policyPoints() []string {
	var out []string
	for _, p := range abi.Points() {
		if name := wire.PointName(p); name != "" {
			out = append(out, name)
		}
	}
	return out
}

func (p FailurePolicy) valid() bool { return p == Fail || p == Ignore }

const policyFix = "write Fail or Ignore"
