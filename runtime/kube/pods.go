package kube

import v1 "k8s.io/api/core/v1"

// Pods returns the pods that are watched, those of other schedulers included, without
// order. Ended ones are not watched. The pods are shared: they must not be changed. It
// may be called from any goroutine.
func (c *Cluster) Pods() []*v1.Pod {
	objects := c.informed.pods.GetStore().List()
	pods := make([]*v1.Pod, len(objects))
	for i, object := range objects {
		pods[i] = object.(*v1.Pod)
	}
	return pods
}
