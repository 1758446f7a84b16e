package objects

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// Services finds services. What it returns must not be changed.
type Services interface {
	// Services returns those of a namespace, in any order.
	Services(namespace string) []*v1.Service
}

// Controllers finds what owns pods, by namespace and name; nil for what is not
// known. What it returns must not be changed.
type Controllers interface {
	ReplicationController(namespace, name string) *v1.ReplicationController
	ReplicaSet(namespace, name string) *appsv1.ReplicaSet
	StatefulSet(namespace, name string) *appsv1.StatefulSet
}
