package dynamicresources

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// PostFilter gives up the devices of one claim that no other pod uses, if they kept the pod from a
// node. kube-scheduler chooses any such claim; this is the first one. If there is none, it deletes what an
// earlier try left for the pod's extended resources. The write runs beside the loop; the claim's event brings
// the pod back, as does a failed write.
func (d *DynamicResources) PostFilter(c *plugin.Cycle, _ *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	a := attemptOf(c.State)
	if a == nil {
		return plugin.PostFilterResult{}, plugin.Fail(errNotSeen)
	}
	if a.empty() {
		return d.nothing("no new claims to deallocate")
	}
	for i := range a.claims {
		claim := &a.claims[i]
		users := claim.object.Status.ReservedFor
		if !claim.unavailable || len(users) > 1 || len(users) == 1 && users[0].UID != c.Pod.UID {
			continue
		}
		free := claim.object.DeepCopy()
		free.Status.ReservedFor, free.Status.Allocation, free.Status.Devices = nil, nil, nil
		d.deps.Writer.Deallocate(free, c.Pod.UID)
		return plugin.PostFilterResult{}, plugin.NewStatus(abi.Unschedulable, "deallocation of ResourceClaim completed")
	}
	if a.special != nil && a.special.stale != nil {
		d.deps.Writer.Delete(a.special.stale)
		return plugin.PostFilterResult{}, plugin.NewStatus(abi.Unschedulable, "deletion of ResourceClaim completed")
	}
	return d.nothing("still not schedulable")
}

func (d *DynamicResources) nothing(why string) (plugin.PostFilterResult, *plugin.Status) {
	status := plugin.NewStatus(abi.Unschedulable)
	if d.deps.Explains {
		status.Reasons = []string{why}
	}
	return plugin.PostFilterResult{}, status
}
