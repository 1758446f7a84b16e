package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
)

// Owners are the objects that pods can belong to. They do not change during a simulation.
type Owners struct {
	Services               []*v1.Service
	ReplicationControllers []*v1.ReplicationController
	ReplicaSets            []*appsv1.ReplicaSet
	StatefulSets           []*appsv1.StatefulSet
}

// store returns an index of them.
func (o *Owners) store() *owners.Store {
	out := owners.New()
	set(out, o.Services)
	set(out, o.ReplicationControllers)
	set(out, o.ReplicaSets)
	set(out, o.StatefulSets)
	return out
}

func set[T metav1.Object](to *owners.Store, list []T) {
	for _, object := range list {
		to.Set(object)
	}
}
