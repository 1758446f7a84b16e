package state

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// bounded returns the pod with the largest int64 instead of endless requests and limits, so that they can be
// added up; the pod itself if none is endless.
func bounded(pod *v1.Pod) *v1.Pod {
	found := false
	eachAmount(pod, func(list v1.ResourceList) {
		for _, q := range list {
			found = found || quantity.Endless(q)
		}
	})
	if !found {
		return pod
	}
	pod = pod.DeepCopy()
	eachAmount(pod, func(list v1.ResourceList) {
		for name, q := range list {
			if quantity.Endless(q) {
				list[name] = *resource.NewQuantity(quantity.Whole(q), q.Format)
			}
		}
	})
	return pod
}

// eachAmount calls f for each list of requests and limits of a pod.
func eachAmount(pod *v1.Pod, f func(v1.ResourceList)) {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			f(list[i].Resources.Requests)
			f(list[i].Resources.Limits)
		}
	}
	f(pod.Spec.Overhead)
	if r := pod.Spec.Resources; r != nil {
		f(r.Requests)
		f(r.Limits)
	}
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			f(list[i].AllocatedResources)
			if r := list[i].Resources; r != nil {
				f(r.Requests)
				f(r.Limits)
			}
		}
	}
	f(pod.Status.AllocatedResources)
	if r := pod.Status.Resources; r != nil {
		f(r.Requests)
		f(r.Limits)
	}
}
