package dynamicresources

import (
	"fmt"
	"math"

	resourcev1 "k8s.io/api/resource/v1"
)

// checkCounts refuses a claim whose requests name counts that the allocator cannot add up, with the allocator's own words
// for a claim that asks for too many devices. The API server accepts any count of a request from 1 to 2^63-1; the
// allocator makes room for their sum, which wraps. It refuses smaller sums itself.
func checkCounts(claim *resourcev1.ResourceClaim) error {
	var sum int64
	for i := range claim.Spec.Devices.Requests {
		r := &claim.Spec.Devices.Requests[i]
		var least int64
		switch {
		case r.Exactly != nil:
			if err := checkCount(claim, r.Name, r.Exactly.AllocationMode, r.Exactly.Count); err != nil {
				return err
			}
			least = counted(r.Exactly.AllocationMode, r.Exactly.Count)
		case len(r.FirstAvailable) > 0:
			least = math.MaxInt64
			for j := range r.FirstAvailable {
				s := &r.FirstAvailable[j]
				if err := checkCount(claim, r.Name+"/"+s.Name, s.AllocationMode, s.Count); err != nil {
					return err
				}
				least = min(least, counted(s.AllocationMode, s.Count))
			}
		}
		if sum > math.MaxInt64-least {
			sum = math.MaxInt64
		} else {
			sum += least
		}
	}
	// All devices of a node may be as many as a claim may have, for each request.
	if room := int64(len(claim.Spec.Devices.Requests)+1) * resourcev1.AllocationResultsMaxSize; sum > math.MaxInt-room {
		return fmt.Errorf("claim %s/%s: number of requested devices %d exceeds the claim limit of %d",
			claim.Namespace, claim.Name, sum, resourcev1.AllocationResultsMaxSize)
	}
	return nil
}

// checkCount refuses a count that no API server accepts, but a file may have.
func checkCount(claim *resourcev1.ResourceClaim, request string, mode resourcev1.DeviceAllocationMode, count int64) error {
	if mode == resourcev1.DeviceAllocationModeExactCount && count < 0 {
		return fmt.Errorf("claim %s/%s, request %s: count %d is not positive", claim.Namespace, claim.Name, request, count)
	}
	return nil
}

// counted is how many devices a request names, 0 if it asks for all that there are.
func counted(mode resourcev1.DeviceAllocationMode, count int64) int64 {
	if mode == resourcev1.DeviceAllocationModeExactCount {
		return count
	}
	return 0
}
