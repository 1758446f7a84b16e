package objects

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// Services finds services. Results must not be changed.
type Services interface {
	// Services returns the services of a namespace, in any order.
	Services(namespace string) []*v1.Service
}

// Controllers finds the owners of pods, by namespace and name; nil if unknown. Results must not
// be changed.
type Controllers interface {
	ReplicationController(namespace, name string) *v1.ReplicationController
	ReplicaSet(namespace, name string) *appsv1.ReplicaSet
	StatefulSet(namespace, name string) *appsv1.StatefulSet
}
