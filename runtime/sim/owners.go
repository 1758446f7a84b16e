package sim

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

// Owners is what pods can belong to. It does not change during a simulation.
type Owners struct {
	Services               []*v1.Service
	ReplicationControllers []*v1.ReplicationController
	ReplicaSets            []*appsv1.ReplicaSet
	StatefulSets           []*appsv1.StatefulSet
}

// owners finds them.
type owners struct {
	services    map[string][]*v1.Service
	replication map[types.NamespacedName]*v1.ReplicationController
	replicaSets map[types.NamespacedName]*appsv1.ReplicaSet
	stateful    map[types.NamespacedName]*appsv1.StatefulSet
}

var (
	_ objects.Services    = (*owners)(nil)
	_ objects.Controllers = (*owners)(nil)
)

func newOwners(o *Owners) *owners {
	out := &owners{
		services: make(map[string][]*v1.Service), replication: byName(o.ReplicationControllers),
		replicaSets: byName(o.ReplicaSets), stateful: byName(o.StatefulSets),
	}
	for _, s := range o.Services {
		out.services[s.Namespace] = append(out.services[s.Namespace], s)
	}
	return out
}

func byName[T metav1.Object](list []T) map[types.NamespacedName]T {
	out := make(map[types.NamespacedName]T, len(list))
	for _, o := range list {
		out[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = o
	}
	return out
}

// Services implements objects.Services.
func (o *owners) Services(namespace string) []*v1.Service { return o.services[namespace] }

// ReplicationController implements objects.Controllers.
func (o *owners) ReplicationController(namespace, name string) *v1.ReplicationController {
	return o.replication[types.NamespacedName{Namespace: namespace, Name: name}]
}

// ReplicaSet implements objects.Controllers.
func (o *owners) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	return o.replicaSets[types.NamespacedName{Namespace: namespace, Name: name}]
}

// StatefulSet implements objects.Controllers.
func (o *owners) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	return o.stateful[types.NamespacedName{Namespace: namespace, Name: name}]
}
