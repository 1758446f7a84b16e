package native

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/test/internal/world"
)

// owners is the services and the controllers of a world.
type owners struct{ world *world.World }

// Services implements objects.Services.
func (o owners) Services(namespace string) []*v1.Service {
	list, _ := o.world.Informers.Core().V1().Services().Lister().Services(namespace).List(labels.Everything()) // a store's list has no failure
	return list
}

// ReplicationController implements objects.Controllers.
func (o owners) ReplicationController(namespace, name string) *v1.ReplicationController {
	c, _ := o.world.Informers.Core().V1().ReplicationControllers().Lister().ReplicationControllers(namespace).Get(name)
	return c
}

// ReplicaSet implements objects.Controllers.
func (o owners) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	c, _ := o.world.Informers.Apps().V1().ReplicaSets().Lister().ReplicaSets(namespace).Get(name)
	return c
}

// StatefulSet implements objects.Controllers.
func (o owners) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	c, _ := o.world.Informers.Apps().V1().StatefulSets().Lister().StatefulSets(namespace).Get(name)
	return c
}

// nobody stands for the API at PreBind, which is not compared.
type nobody struct{}

var errNobody = errors.New("PreBind is not compared")

func (nobody) UpdateVolume(context.Context, *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	return nil, errNobody
}

func (nobody) UpdateClaim(context.Context, *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	return nil, errNobody
}

func (nobody) Await(context.Context, time.Duration, func() (bool, error)) error { return errNobody }

func (nobody) NodeObject(string) *v1.Node { return nil }

func (nobody) HasPod(string, string) bool { return false }
