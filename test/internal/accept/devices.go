package accept

import v1 "k8s.io/api/core/v1"

// withoutDevices returns a pod without the extended resources that it has as devices, as its status says. No
// node needs to have those itself.
func withoutDevices(pod *v1.Pod) *v1.Pod {
	status := pod.Status.ExtendedResourceClaimStatus
	if status == nil {
		return pod
	}
	pod = pod.DeepCopy()
	for _, mapping := range status.RequestMappings {
		name := v1.ResourceName(mapping.ResourceName)
		for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				delete(containers[i].Resources.Requests, name)
				delete(containers[i].Resources.Limits, name)
			}
		}
	}
	return pod
}
