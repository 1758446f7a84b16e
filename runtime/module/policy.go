package module

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// FailurePolicy says what happens to a pod when a plugin faults.
type FailurePolicy string

// The failure policies.
const (
	// Fail fails the pod's attempt; the pod goes to the error backoff.
	Fail FailurePolicy = "Fail"
	// Ignore continues as if the plugin were not in the profile.
	Ignore FailurePolicy = "Ignore"
)

// FailurePolicies are the failure policies of a plugin's points. The zero value has only
// defaults.
type FailurePolicies struct {
	// All applies to points that are not in Points; empty for the default.
	All FailurePolicy
	// Points is by the manifest's names of points; may be nil.
	Points map[string]FailurePolicy
}

// For returns the policy of a point: the configured one, or the default. The default is Ignore
// for scoring and for points that run too late to fail the pod, and Fail for all others.
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

// policyPoints returns the points that can have a policy.
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
