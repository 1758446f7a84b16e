package nodevolumelimits

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/hostplugins/internal/migration"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

func events() []plugin.Event {
	on := func(resource state.EventResource, action state.Action) state.ClusterEvent {
		return state.ClusterEvent{Resource: resource, Action: action}
	}
	return []plugin.Event{
		{ClusterEvent: on(state.NodeResource, state.Add)},
		{ClusterEvent: on(state.CSINodeResource, state.Add|state.Delete)},
		{ClusterEvent: on(state.CSINodeResource, state.Update), Hint: afterCSINodeUpdate},
		{ClusterEvent: on(state.CSIDriverResource, state.Update|state.Delete), Hint: afterDriverChange},
		{ClusterEvent: on(state.AssignedPodResource, state.Delete), Hint: afterPodDelete},
		{ClusterEvent: on(state.AssignedPodResource, state.Add), Hint: afterPodAdd},
		{ClusterEvent: on(state.PersistentVolumeClaimResource, state.Add), Hint: afterClaimAdd},
		{ClusterEvent: on(state.PersistentVolumeClaimResource, state.Update), Hint: afterClaimUpdate},
		{ClusterEvent: on(state.VolumeAttachmentResource, state.Delete), Hint: afterDetach},
		// Without these objects it is unknown which driver attaches a volume, so it does not count.
		{ClusterEvent: on(state.PersistentVolumeClaimResource, state.Delete)},
		{ClusterEvent: on(state.PersistentVolumeResource, state.Delete)},
		{ClusterEvent: on(state.StorageClassResource, state.Delete)},
	}
}

func attachesInline(pod *state.Pod) bool {
	return slices.ContainsFunc(pod.Object.Spec.Volumes, func(v v1.Volume) bool { _, ok := migration.Inline(&v); return ok })
}

// afterPodAdd queues the pod when a pod with one of its volumes came to a node: there the volume need not be attached
// again.
func afterPodAdd(pod *state.Pod, object state.Object) (state.Hint, error) {
	came := object.NewPod
	if came == nil {
		return state.Queue, errors.New("the event of an added pod has no pod")
	}
	if (attachesInline(pod) || attachesInline(came)) && relevant(pod.Object) && relevant(came.Object) {
		return state.Queue, nil // a claim's volume may be the same as one inline
	}
	for i := range came.Object.Spec.Volumes {
		name, _, ok := claims.Of(came.Object, &came.Object.Spec.Volumes[i])
		claim := v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: came.Namespace, Name: name}}
		if ok && claims.Uses(pod.Object, &claim, true) {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}

// afterClaimUpdate queues the pod when a claim was bound, since its volume may be attached already, and when it is another
// one: an informer can report a claim that was deleted and made again as changed.
func afterClaimUpdate(_ *state.Pod, object state.Object) (state.Hint, error) {
	was, ok := object.Old.(*v1.PersistentVolumeClaim)
	now, also := object.New.(*v1.PersistentVolumeClaim)
	if !ok || !also {
		return state.Queue, errors.New("the event of an updated claim lacks one of its versions")
	}
	if was.UID == now.UID && was.Spec.VolumeName == now.Spec.VolumeName &&
		volume.GetPersistentVolumeClaimClass(was) == volume.GetPersistentVolumeClaimClass(now) {
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}

// afterPodDelete queues the pod when a pod with a volume that might have been attached was
// removed from a node, or lost its nomination.
func afterPodDelete(_ *state.Pod, object state.Object) (state.Hint, error) {
	gone := object.OldPod
	if gone == nil {
		return state.Queue, errors.New("the event of a deleted pod has no pod")
	}
	if gone.NodeName() == "" && gone.NominatedNode() == "" || !relevant(gone.Object) {
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}

// afterClaimAdd queues the pod when a claim that it uses was added.
func afterClaimAdd(pod *state.Pod, object state.Object) (state.Hint, error) {
	claim, ok := object.New.(*v1.PersistentVolumeClaim)
	if !ok {
		return state.Queue, errors.New("the event of an added claim has no claim")
	}
	if claims.Uses(pod.Object, claim, true) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterDetach queues the pod when a volume was detached whose driver may be that of one of its
// own volumes: any driver, if it has a claim. kube-scheduler v1.37 ignores the claims of
// ephemeral volumes, although they are attached too.
func afterDetach(pod *state.Pod, object state.Object) (state.Hint, error) {
	gone, ok := object.Old.(*storagev1.VolumeAttachment)
	if !ok {
		return state.Queue, errors.New("the event of a deleted attachment has no attachment")
	}
	for i := range pod.Object.Spec.Volumes {
		v := &pod.Object.Spec.Volumes[i]
		if _, _, ok := claims.Of(pod.Object, v); ok {
			return state.Queue, nil
		}
		if _, ok := migration.Inline(v); !ok {
			continue
		}
		pv, err := migration.TranslateInline(v, pod.Namespace)
		if err != nil {
			return state.Queue, err
		}
		if pv.Spec.CSI != nil && gone.Spec.Attacher == pv.Spec.CSI.Driver {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}

// afterDriverChange queues the pod when nodes need no longer have a driver.
func afterDriverChange(_ *state.Pod, object state.Object) (state.Hint, error) {
	was, ok := object.Old.(*storagev1.CSIDriver)
	if !ok {
		return state.Queue, errors.New("the event of an updated or deleted CSIDriver lacks its former version")
	}
	now, _ := object.New.(*storagev1.CSIDriver)
	if ptr.Deref(was.Spec.PreventPodSchedulingIfMissing, false) && (now == nil || !ptr.Deref(now.Spec.PreventPodSchedulingIfMissing, false)) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterCSINodeUpdate queues the pod when the node got a driver, when its limit for one was raised or removed, or when it
// changed which in-tree volumes a driver attaches; kube-scheduler v1.37 takes a removed limit for a limit of 0.
func afterCSINodeUpdate(_ *state.Pod, object state.Object) (state.Hint, error) {
	was, ok := object.Old.(*storagev1.CSINode)
	now, also := object.New.(*storagev1.CSINode)
	if !ok || !also {
		return state.Queue, errors.New("the event of an updated CSINode lacks one of its versions")
	}
	if was.Annotations[v1.MigratedPluginsAnnotationKey] != now.Annotations[v1.MigratedPluginsAnnotationKey] {
		return state.Queue, nil
	}
	if slices.ContainsFunc(now.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return !installed(was, d.Name) }) {
		return state.Queue, nil
	}
	before, after := limits(was), limits(now)
	for name, limit := range after {
		if limit > before[name] {
			return state.Queue, nil
		}
	}
	for name := range before {
		if _, limited := after[name]; !limited {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}
