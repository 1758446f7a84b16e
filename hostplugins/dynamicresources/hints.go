package dynamicresources

import (
	"errors"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

func (d *DynamicResources) events() []plugin.Event {
	on := func(resource state.EventResource, action state.Action) state.ClusterEvent {
		return state.ClusterEvent{Resource: resource, Action: action}
	}
	return []plugin.Event{
		{ClusterEvent: on(state.NodeResource, state.Add|state.UpdateNodeLabel|state.UpdateNodeAllocatable)},
		{ClusterEvent: on(state.ResourceClaimResource, state.Add|state.Update), Hint: d.afterClaimChange},
		{ClusterEvent: on(state.ResourceClaimResource, state.Delete), Hint: afterClaimGone},
		{ClusterEvent: on(state.TargetPodResource, state.UpdatePodGeneratedResourceClaim), Hint: d.afterPodChange},
		{ClusterEvent: on(state.AssignedPodResource, state.Delete), Hint: d.afterPodDelete},
		{ClusterEvent: on(state.DeviceClassResource, state.Add|state.Update|state.Delete)},
		{ClusterEvent: on(state.ResourceSliceResource, state.Add|state.Update|state.Delete)},
		{ClusterEvent: on(state.DeviceTaintRuleResource, state.Add|state.Update|state.Delete), Hint: afterRuleChange},
	}
}

// afterRuleChange queues the pod unless only the status of a rule that taints devices changed.
func afterRuleChange(_ *state.Pod, object state.Object) (state.Hint, error) {
	was, _ := object.Old.(*resourcev1.DeviceTaintRule)
	now, _ := object.New.(*resourcev1.DeviceTaintRule)
	if was == nil && now == nil {
		return state.Queue, errors.New("the event of a rule that taints devices has no rule")
	}
	if was != nil && now != nil && equality.Semantic.DeepEqual(was.Spec, now.Spec) {
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}

// afterClaimChange queues the pod when devices were freed, perhaps for others of the same claim, or the status of one of
// its claims changed.
func (d *DynamicResources) afterClaimChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	was, ok := object.Old.(*resourcev1.ResourceClaim)
	if !ok && object.Old != nil {
		return state.Queue, errors.New("the event is about an object of another kind before")
	}
	now, ok := object.New.(*resourcev1.ResourceClaim)
	if !ok {
		return state.Queue, errors.New("the event of an added or updated resource claim lacks it")
	}
	claims, err := d.claimsOf(pod.Object)
	if err != nil {
		return state.QueueSkip, nil //nolint:nilerr // the pod cannot be placed yet
	}
	if was != nil && was.Status.Allocation != nil && !equality.Semantic.DeepEqual(was.Status.Allocation, now.Status.Allocation) {
		return state.Queue, nil
	}
	uses := false
	for _, claim := range claims {
		uses = uses || claim.UID == now.UID
	}
	if !uses || was != nil && equality.Semantic.DeepEqual(&was.Status, &now.Status) {
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}

// afterClaimGone queues the pod when the claim for its own extended resources was deleted, or one whose devices
// were still allocated, as only the scheduler does.
func afterClaimGone(pod *state.Pod, object state.Object) (state.Hint, error) {
	was, ok := object.Old.(*resourcev1.ResourceClaim)
	if !ok {
		return state.Queue, errors.New("the event of a deleted resource claim lacks it")
	}
	if was.Status.Allocation != nil {
		return state.Queue, nil
	}
	if owner := madeFor(was); owner != nil && owner.UID == pod.UID {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterPodChange queues the pod when the names of all its claims are known.
func (d *DynamicResources) afterPodChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	now := object.NewPod
	if now == nil {
		return state.Queue, errors.New("the event of an updated pod lacks it")
	}
	if now.UID != pod.UID {
		return state.QueueSkip, nil
	}
	if _, err := d.claimsOf(now.Object); err != nil {
		return state.QueueSkip, nil //nolint:nilerr // the pod cannot be placed yet
	}
	return state.Queue, nil
}

// afterPodDelete queues the pod when a pod with claims that are not allocated was removed from its node: it may have been
// binding, and the devices that it had reserved are free again.
func (d *DynamicResources) afterPodDelete(_ *state.Pod, object state.Object) (state.Hint, error) {
	gone := object.OldPod
	if gone == nil {
		return state.Queue, errors.New("the event of a deleted pod has no pod")
	}
	if gone.NodeName() == "" {
		return state.QueueSkip, nil
	}
	for i := range gone.Object.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(gone.Object, &gone.Object.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		if claim := d.deps.Devices.Claims.ResourceClaim(gone.Namespace, *name); claim == nil || claim.Status.Allocation == nil {
			return state.Queue, nil
		}
	}
	if gone.Object.Status.ExtendedResourceClaimStatus != nil {
		return state.QueueSkip, nil
	}
	for _, s := range gone.Requests.Scalars {
		if s.Value != 0 && d.deps.Ledger.Provides(s.Name) {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}
