package volumezone

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/runtime/state"
)

// afterClassAdd queues the pod when a class was added whose claims wait for their first
// consumer. The binding mode of a class does not change.
func afterClassAdd(_ *state.Pod, object state.Object) (state.Hint, error) {
	class, ok := object.New.(*storagev1.StorageClass)
	if !ok {
		return state.Queue, errors.New("the event of an added storage class has no class")
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}

// afterClaimChange queues the pod when one of its claims was added or changed.
func afterClaimChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	claim, ok := object.New.(*v1.PersistentVolumeClaim)
	if !ok {
		return state.Queue, errors.New("the event of an added or updated claim has no claim")
	}
	if claims.Uses(pod.Object, claim, false) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// afterVolumeChange queues the pod when a volume was added, or its zones changed.
func afterVolumeChange(_ *state.Pod, object state.Object) (state.Hint, error) {
	now, ok := object.New.(*v1.PersistentVolume)
	if !ok {
		return state.Queue, errors.New("the event of an added or updated volume has no volume")
	}
	was, ok := object.Old.(*v1.PersistentVolume)
	if !ok {
		return state.Queue, nil
	}
	same := slices.EqualFunc(zonesOfVolume(was), zonesOfVolume(now), func(a, b zone) bool {
		return a.key == b.key && slices.Equal(a.values, b.values)
	})
	if same {
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}
