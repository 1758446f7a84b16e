package kube

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods returns the watched pods, including those of other schedulers, in no order.
// Terminated pods are not watched. The pods are shared and must not be changed. Any
// goroutine may call it.
func (c *Cluster) Pods() []*v1.Pod {
	objects := c.watches.pods.GetStore().List()
	pods := make([]*v1.Pod, len(objects))
	for i, object := range objects {
		pods[i] = object.(*v1.Pod)
	}
	return pods
}

// Pod returns a watched pod, or nil if no such pod exists or it has terminated. The pod is
// shared and must not be changed. Any goroutine may call it.
func (c *Cluster) Pod(name types.NamespacedName) *v1.Pod {
	object, ok, err := c.watches.pods.GetStore().GetByKey(name.String())
	if err != nil || !ok {
		return nil
	}
	return object.(*v1.Pod)
}

// Pod asks the API server for a pod, for example for berth explain. Bindings do not wait for
// it. It returns nil if no such pod exists.
func (c *Clients) Pod(ctx context.Context, name types.NamespacedName) (*v1.Pod, error) {
	pod, err := c.Reviews.CoreV1().Pods(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return pod, nil
}
