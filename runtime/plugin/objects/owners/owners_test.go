package owners_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/plugin/objects/owners"
)

// TestStore: objects are found by namespace and name until they are removed, and a returned
// list does not change.
func TestStore(t *testing.T) {
	s := owners.New()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }
	controller, set, stateful := &v1.ReplicationController{ObjectMeta: meta("x")}, &appsv1.ReplicaSet{ObjectMeta: meta("x")}, &appsv1.StatefulSet{ObjectMeta: meta("x")}
	a, b := &v1.Service{ObjectMeta: meta("a")}, &v1.Service{ObjectMeta: meta("b")}
	all := []metav1.Object{controller, set, stateful, b, a, a}
	for _, object := range all {
		s.Set(object)
	}
	if s.ReplicationController("ns", "x") != controller || s.ReplicaSet("ns", "x") != set || s.StatefulSet("ns", "x") != stateful || s.ReplicaSet("other", "x") != nil {
		t.Error("controllers are others")
	}
	services := s.Services("ns")
	if len(services) != 2 || services[0] != a || services[1] != b || s.Services("other") != nil {
		t.Errorf("services are %v", services)
	}
	for _, object := range all {
		s.Remove(object)
	}
	if s.ReplicationController("ns", "x") != nil || s.ReplicaSet("ns", "x") != nil || s.StatefulSet("ns", "x") != nil || s.Services("ns") != nil {
		t.Error("objects are left")
	}
	if services[0] != a || services[1] != b {
		t.Error("a returned list has changed")
	}
}
