package volumebinding

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

func (b *VolumeBinding) events() []plugin.Event {
	on := func(resource state.EventResource, action state.Action) state.ClusterEvent {
		return state.ClusterEvent{Resource: resource, Action: action}
	}
	return []plugin.Event{
		{ClusterEvent: on(state.StorageClassResource, state.Add|state.Update), Hint: afterClassChange},
		{ClusterEvent: on(state.PersistentVolumeClaimResource, state.Add|state.Update), Hint: afterClaimChange},
		{ClusterEvent: on(state.PersistentVolumeResource, state.Add|state.Update)},
		{ClusterEvent: on(state.NodeResource, state.Add|state.UpdateNodeLabel)},
		{ClusterEvent: on(state.CSINodeResource, state.Add|state.Update), Hint: afterCSINodeChange},
		{ClusterEvent: on(state.CSIDriverResource, state.Update|state.Delete), Hint: b.afterDriverChange},
		{ClusterEvent: on(state.CSIStorageCapacityResource, state.Add|state.Update), Hint: afterCapacityChange},
		// kube-scheduler does not register these events; its pods wait for the next flush.
		{ClusterEvent: on(state.PersistentVolumeResource, state.Delete), Hint: afterVolumeDelete},
		{ClusterEvent: on(state.AssignedPodResource, state.Delete), Hint: b.afterPodDelete},
	}
}

// versions returns the old and the new version of an object. Old is nil for an addition.
func versions[T any](object state.Object) (was, now *T, err error) {
	was, ok := object.Old.(*T)
	if !ok && object.Old != nil {
		return nil, nil, errors.New("the event is about an object of another kind before")
	}
	if now, ok = object.New.(*T); !ok {
		return nil, nil, errors.New("the event of an added or updated object lacks it")
	}
	return was, now, nil
}

// afterPodDelete queues the pod when a pod whose claims are not all bound was removed from its
// node: it may have been binding, and what it had reserved is free again.
func (b *VolumeBinding) afterPodDelete(_ *state.Pod, object state.Object) (state.Hint, error) {
	gone := object.OldPod
	if gone == nil {
		return state.Queue, errors.New("the event of a deleted pod has no pod")
	}
	if gone.NodeName() == "" {
		return state.QueueSkip, nil
	}
	for i := range gone.Object.Spec.Volumes {
		name, _, ok := claims.Of(gone.Object, &gone.Object.Spec.Volumes[i])
		if !ok {
			continue
		}
		if claim := b.deps.Storage.Claims.Claim(gone.Namespace, name); claim == nil || !fullyBound(claim) {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}

// afterClassChange queues the pod when a class was added, or its allowed topologies changed.
func afterClassChange(_ *state.Pod, object state.Object) (state.Hint, error) {
	was, now, err := versions[storagev1.StorageClass](object)
	if err != nil {
		return state.Queue, err
	}
	if was == nil || !equality.Semantic.DeepEqual(was.AllowedTopologies, now.AllowedTopologies) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterClaimChange queues the pod when one of its claims was added or changed.
func afterClaimChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	_, now, err := versions[v1.PersistentVolumeClaim](object)
	if err != nil {
		return state.Queue, err
	}
	if claims.Uses(pod.Object, now, true) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterVolumeDelete queues the pod when a volume is gone that was kept for one of its claims: the claim may have others now.
func afterVolumeDelete(pod *state.Pod, object state.Object) (state.Hint, error) {
	gone, ok := object.Old.(*v1.PersistentVolume)
	if !ok {
		return state.Queue, errors.New("the event of a deleted volume lacks it")
	}
	ref := gone.Spec.ClaimRef
	if ref == nil {
		return state.QueueSkip, nil
	}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	if claims.Uses(pod.Object, claim, true) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterCSINodeChange queues the pod when a CSINode was added, or the in-tree volumes that it
// says CSI drivers serve changed.
func afterCSINodeChange(_ *state.Pod, object state.Object) (state.Hint, error) {
	was, now, err := versions[storagev1.CSINode](object)
	if err != nil {
		return state.Queue, err
	}
	if was == nil || was.Annotations[v1.MigratedPluginsAnnotationKey] != now.Annotations[v1.MigratedPluginsAnnotationKey] {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterDriverChange queues the pod when a driver's storage capacities no longer count, as when it is gone, and the
// pod has a claim that the driver provisions. kube-scheduler v1.37 checks for an inline volume
// of the driver, which capacities do not affect; that is checked here too.
func (b *VolumeBinding) afterDriverChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	was, ok := object.Old.(*storagev1.CSIDriver)
	if !ok {
		return state.Queue, errors.New("the event of an updated or deleted CSIDriver lacks its former version")
	}
	now, _ := object.New.(*storagev1.CSIDriver)
	if !ptr.Deref(was.Spec.StorageCapacity, false) || now != nil && ptr.Deref(now.Spec.StorageCapacity, false) {
		return state.QueueSkip, nil
	}
	for i := range pod.Object.Spec.Volumes {
		v := &pod.Object.Spec.Volumes[i]
		if v.CSI != nil && v.CSI.Driver == was.Name {
			return state.Queue, nil
		}
		name, _, ok := claims.Of(pod.Object, v)
		if !ok {
			continue
		}
		claim := b.deps.Storage.Claims.Claim(pod.Namespace, name)
		if claim == nil {
			continue
		}
		class := b.deps.Storage.Classes.StorageClass(volume.GetPersistentVolumeClaimClass(claim))
		if class != nil && class.Provisioner == was.Name {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}

// afterCapacityChange queues the pod when a storage capacity was added, or there is room for
// larger volumes than before.
func afterCapacityChange(_ *state.Pod, object state.Object) (state.Hint, error) {
	was, now, err := versions[storagev1.CSIStorageCapacity](object)
	if err != nil {
		return state.Queue, err
	}
	if was == nil {
		return state.Queue, nil
	}
	before, after := largest(was), largest(now)
	if after != nil && (before == nil || quantity.Whole(*after) > quantity.Whole(*before)) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}
