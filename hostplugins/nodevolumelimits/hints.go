package nodevolumelimits

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/hostplugins/internal/migration"
	"github.com/berth-scheduler/berth/runtime/state"
)

// afterPodDelete queues the pod when one left a node, or gave up its nomination,
// that had a volume which might have been attached.
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

// afterClaimAdd queues the pod when a claim came that it waits for.
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

// afterDetach queues the pod when a volume was detached that might be of a driver
// of its own volumes: any, if it has a claim. kube-scheduler v1.36 leaves out the
// claims of ephemeral volumes, which are attached all the same.
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

// afterCSINodeUpdate queues the pod when the node can have more volumes of a
// driver than before, or any number, which kube-scheduler v1.36 takes for none.
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
