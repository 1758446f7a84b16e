package nodevolumelimits

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/hostplugins/internal/migration"
	"github.com/berth-scheduler/berth/runtime/state"
)

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
// own volumes: any driver, if it has a claim. kube-scheduler v1.36 ignores the claims of
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

// afterCSINodeUpdate queues the pod when the node's limit for a driver was raised or removed;
// kube-scheduler v1.36 takes a removed limit for a limit of 0.
func afterCSINodeUpdate(_ *state.Pod, object state.Object) (state.Hint, error) {
	was, ok := object.Old.(*storagev1.CSINode)
	now, also := object.New.(*storagev1.CSINode)
	if !ok || !also {
		return state.Queue, errors.New("the event of an updated CSINode lacks one of its versions")
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
