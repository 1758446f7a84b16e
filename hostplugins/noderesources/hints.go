package noderesources

import (
	"errors"

	"github.com/berth-scheduler/berth/runtime/state"
)

// afterPodEvent queues the pod when a pod was removed from a node or lost its nomination, when
// the pod's own requests were lowered, or when a placed pod's requests were lowered for a
// resource that this pod requests (KEP-1287).
func afterPodEvent(pod *state.Pod, object state.Object) (state.Hint, error) {
	was, now := object.OldPod, object.NewPod
	switch {
	case was == nil:
		return state.Queue, errors.New("the event of a deleted or updated pod has no old pod")
	case now == nil:
		if was.NodeName() == "" && was.NominatedNode() == "" {
			return state.QueueSkip, nil
		}
		return state.Queue, nil
	case now.UID == pod.UID:
		return state.Queue, nil
	case now.NodeName() == "" || !frees(&was.Requests, &now.Requests, &pod.Requests):
		return state.QueueSkip, nil
	}
	return state.Queue, nil
}

// frees reports whether now is below was in a requested resource.
func frees(was, now, asked *state.Resources) bool {
	if asked.MilliCPU != 0 && was.MilliCPU > now.MilliCPU ||
		asked.Memory != 0 && was.Memory > now.Memory ||
		asked.EphemeralStorage != 0 && was.EphemeralStorage > now.EphemeralStorage {
		return true
	}
	for _, s := range asked.Scalars {
		if s.Value != 0 && was.Scalar(s.Name) > now.Scalar(s.Name) {
			return true
		}
	}
	return false
}

// afterNodeChange queues the pod when it would fit the node if the node were empty, and the
// node is new, has more than before of a resource that the pod requests, or has room for more
// pods. As in kube-scheduler, resources that the args ignore are checked here.
func afterNodeChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewNode == nil {
		return state.Queue, errors.New("the event of an added or updated node has no node")
	}
	has := &object.NewNode.Allocatable
	if !fitsEmpty(&pod.Requests, has) {
		return state.QueueSkip, nil
	}
	if object.OldNode == nil {
		return state.Queue, nil
	}
	had := &object.OldNode.Allocatable
	if has.Pods > had.Pods || frees(has, had, &pod.Requests) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

func fitsEmpty(asked, has *state.Resources) bool {
	if has.Pods < 1 || asked.MilliCPU > has.MilliCPU || asked.Memory > has.Memory || asked.EphemeralStorage > has.EphemeralStorage {
		return false
	}
	for _, s := range asked.Scalars {
		if s.Value > has.Scalar(s.Name) {
			return false
		}
	}
	return true
}
