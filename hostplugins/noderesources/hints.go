package noderesources

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// afterPodEvent queues the pod when a pod was removed from a node or lost its nomination, when
// the pod's own requests were lowered, or when a placed pod's requests were lowered for a
// resource that this pod requests (KEP-1287). A pod that waits for a resize is helped on its node only.
func afterPodEvent(pod *state.Pod, object state.Object) (state.Hint, error) {
	was, now := object.OldPod, object.NewPod
	switch {
	case was == nil:
		return state.Queue, errors.New("the event of a deleted or updated pod has no old pod")
	case pod.ResizeDeferred() && was.NodeName() != pod.NodeName():
		return state.QueueSkip, nil
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
// pods. A resource that device classes provide, and the node does not have, fits, and so does one that the args ignore.
func (f *Fit) afterNodeChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	if object.NewNode == nil {
		return state.Queue, errors.New("the event of an added or updated node has no node")
	}
	if pod.ResizeDeferred() && object.NewNode.Name != pod.NodeName() {
		return state.QueueSkip, nil
	}
	has := &object.NewNode.Allocatable
	if !f.fitsEmpty(&pod.Requests, has) {
		return state.QueueSkip, nil
	}
	if object.OldNode == nil {
		return state.Queue, nil
	}
	had := &object.OldNode.Allocatable
	if has.Pods > had.Pods || frees(has, had, &pod.Requests) {
		return state.Queue, nil
	}
	for _, s := range pod.Requests.Scalars {
		if s.Value != 0 && f.delegated(s.Name, has) {
			return state.Queue, nil
		}
	}
	return state.QueueSkip, nil
}

// delegated reports whether a node must have a resource as devices, if at all.
func (f *Fit) delegated(resource v1.ResourceName, has *state.Resources) bool {
	return has.Scalar(resource) == 0 && f.devices.Provides(resource)
}

// Delegates returns the resource claims if the pod can have one of its resources on the node as devices only.
func (f *Fit) Delegates(p *plugin.Placement) state.Feature {
	for _, s := range p.Pod.Requests.Scalars {
		if s.Value != 0 && !f.ignores(s.Name) && f.delegated(s.Name, &p.Node.Allocatable) {
			return state.FeatureResourceClaims
		}
	}
	return 0
}

func (f *Fit) fitsEmpty(asked, has *state.Resources) bool {
	if has.Pods < 1 || asked.MilliCPU > has.MilliCPU || asked.Memory > has.Memory || asked.EphemeralStorage > has.EphemeralStorage {
		return false
	}
	for _, s := range asked.Scalars {
		if s.Value > has.Scalar(s.Name) && !f.delegated(s.Name, has) && !f.ignores(s.Name) {
			return false
		}
	}
	return true
}

// afterClassChange queues the pod when a device class begins to provide a resource that the pod
// requests.
func afterClassChange(pod *state.Pod, object state.Object) (state.Hint, error) {
	now, ok := object.New.(*resourcev1.DeviceClass)
	if !ok {
		return state.Queue, errors.New("the event of an added or updated device class lacks it")
	}
	asks := func(name string) bool {
		return slices.ContainsFunc(pod.Requests.Scalars, func(s state.Scalar) bool { return string(s.Name) == name })
	}
	resource := ptr.Deref(now.Spec.ExtendedResourceName, "")
	switch was, ok := object.Old.(*resourcev1.DeviceClass); {
	case ok && ptr.Deref(was.Spec.ExtendedResourceName, "") == resource:
		return state.QueueSkip, nil
	case !ok && asks(resourcev1.ResourceDeviceClassPrefix+now.Name):
		return state.Queue, nil
	}
	if resource != "" && asks(resource) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}
