package dynamicresources

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
)

// checkCounts refuses a claim with a negative count, which no API server accepts, but a file may have: the allocator makes
// room for that many devices.
func checkCounts(claim *resourcev1.ResourceClaim) error {
	for i := range claim.Spec.Devices.Requests {
		r := &claim.Spec.Devices.Requests[i]
		if r.Exactly != nil {
			if err := checkCount(claim, r.Name, r.Exactly.AllocationMode, r.Exactly.Count); err != nil {
				return err
			}
		}
		for j := range r.FirstAvailable {
			s := &r.FirstAvailable[j]
			if err := checkCount(claim, r.Name+"/"+s.Name, s.AllocationMode, s.Count); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkCount(claim *resourcev1.ResourceClaim, request string, mode resourcev1.DeviceAllocationMode, count int64) error {
	if mode == resourcev1.DeviceAllocationModeExactCount && count < 0 {
		return fmt.Errorf("claim %s/%s, request %s: count %d is not positive", claim.Namespace, claim.Name, request, count)
	}
	return nil
}
