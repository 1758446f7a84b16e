package volumerestrictions

import (
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/runtime/state"
)

// afterPodDelete queues the pod when a pod with a conflicting disk, or with one of its claims,
// was deleted. The access modes of claims are not checked: any of them might be
// ReadWriteOncePod.
// Disks have no namespace, so unlike kube-scheduler v1.37 this checks pods of other namespaces
// too.
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

// afterClaimAdd queues the pod when a claim that it uses was added.
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
