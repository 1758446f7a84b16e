package dynamicresources

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Indifferent reports that the pod's claims have no alternatives.
func (d *DynamicResources) Indifferent(c *plugin.Cycle) bool {
	if a := attemptOf(c.State); a != nil {
		for i := range a.claims {
			for j := range a.claims[i].object.Spec.Devices.Requests {
				if len(a.claims[i].object.Spec.Devices.Requests[j].FirstAvailable) > 0 {
					return false
				}
			}
		}
	}
	return true
}

// Score prefers nodes that have the devices which the claims name first (KEP-4816).
func (d *DynamicResources) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	a := attemptOf(c.State)
	if a == nil {
		return plugin.Fail(errNotSeen)
	}
	var allocated int64
	for i := range a.claims {
		if claim := a.claims[i].object; claim.Status.Allocation != nil {
			allocated += scoreOf(claim, claim.Status.Allocation)
		}
	}
	for i, row := range rows {
		if a.search {
			out[i] = allocated + a.found[c.Snapshot.Name(row)].score
		}
	}
	return nil
}

// scoreOf is 8 for each request whose first alternative is allocated, 7 for the second, and so on.
func scoreOf(claim *resourcev1.ResourceClaim, allocation *resourcev1.AllocationResult) (sum int64) {
	chosen := make(map[string]bool)
	for i := range allocation.Devices.Results {
		chosen[allocation.Devices.Results[i].Request] = true
	}
	for i := range claim.Spec.Devices.Requests {
		r := &claim.Spec.Devices.Requests[i]
		for j := range r.FirstAvailable {
			if chosen[resourceclaim.CreateSubRequestRef(r.Name, r.FirstAvailable[j].Name)] {
				sum += int64(resourcev1.FirstAvailableDeviceRequestMaxSize - j)
			}
		}
	}
	return sum
}

// Normalize scales the scores in proportion so that the highest gets 100.
func (d *DynamicResources) Normalize(_ *plugin.Cycle, _ []uint32, scores []int64) *plugin.Status {
	plugin.NormalizeMax(scores, false)
	return nil
}

// Scaling implements plugin.Scaler.
func (d *DynamicResources) Scaling() (plugin.Scaling, bool) { return plugin.ToMax, true }
