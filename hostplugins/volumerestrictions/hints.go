package volumerestrictions

import (
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/runtime/state"
)

// afterPodDelete queues the pod when one left that had a disk in its way, or used
// a claim of its. Claims are not looked at: any of them might be one for one pod.
//
// Disks have no namespace, so unlike kube-scheduler v1.36 this heeds pods of other
// namespaces.
func afterPodDelete(pod *state.Pod, object state.Object) (state.Hint, error) {
	gone := object.OldPod
	if gone == nil {
		return state.Queue, errors.New("the event of a deleted pod has no pod")
	}
	if clashAny(mounts(pod.Object), gone) {
		return state.Queue, nil
	}
	if gone.Namespace != pod.Namespace {
		return state.QueueSkip, nil
	}
	for i := range gone.Object.Spec.Volumes {
		source := gone.Object.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		for j := range pod.Object.Spec.Volumes {
			if own := pod.Object.Spec.Volumes[j].PersistentVolumeClaim; own != nil && own.ClaimName == source.ClaimName {
				return state.Queue, nil
			}
		}
	}
	return state.QueueSkip, nil
}

// afterClaimAdd queues the pod when a claim came that it waits for.
func afterClaimAdd(pod *state.Pod, object state.Object) (state.Hint, error) {
	claim, ok := object.New.(*v1.PersistentVolumeClaim)
	if !ok {
		return state.Queue, errors.New("the event of an added claim has no claim")
	}
	if claims.Uses(pod.Object, claim, false) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}
