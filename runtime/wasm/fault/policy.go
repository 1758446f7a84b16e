package fault

import "github.com/berth-scheduler/berth/abi"

// Policy is what a fault of a plugin means for the pod.
type Policy uint8

// The policies.
const (
	// Fail fails the attempt; the pod goes to the error backoff.
	Fail Policy = iota
	// Ignore goes on as if the plugin had no opinion.
	Ignore
)

// DefaultPolicy returns the policy of a point that is not configured. Points that decide
// whether a pod may run fail; points that rate nodes, or clean up, are ignored.
func DefaultPolicy(point abi.Point) Policy {
	switch point {
	case abi.PreScore, abi.Score, abi.Normalize, abi.Unreserve, abi.PostBind:
		return Ignore
	}
	return Fail
}
