package hostplugins_test

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

// world is the objects of a cluster besides nodes and pods.
type world struct {
	Namespaces   []*v1.Namespace             `json:"namespaces"`
	ServiceList  []*v1.Service               `json:"services"`
	ReplicaSets  []*appsv1.ReplicaSet        `json:"replicaSets"`
	StatefulSets []*appsv1.StatefulSet       `json:"statefulSets"`
	Replication  []*v1.ReplicationController `json:"replicationControllers"`
}

var (
	_ objects.Services    = (*world)(nil)
	_ objects.Controllers = (*world)(nil)
)

func (w *world) Services(namespace string) (out []*v1.Service) {
	for _, s := range w.ServiceList {
		if s.Namespace == namespace {
			out = append(out, s)
		}
	}
	return out
}

// named returns the object of a namespace and name, or nil.
func named[T metav1.Object](list []T, namespace, name string) (none T) {
	for _, o := range list {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return none
}

func (w *world) ReplicationController(namespace, name string) *v1.ReplicationController {
	return named(w.Replication, namespace, name)
}

func (w *world) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	return named(w.ReplicaSets, namespace, name)
}

func (w *world) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	return named(w.StatefulSets, namespace, name)
}

// owner parses KIND/NAME into a reference to a controller.
func owner(text string) []metav1.OwnerReference {
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		return nil
	}
	version := "apps/v1"
	if kind == "ReplicationController" {
		version = "v1"
	}
	yes := true
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, Controller: &yes}}
}

// selector combines the selectors of a pod's services and controller, as the documentation of
// default constraints describes. As in kube-scheduler, labels of services and of a
// ReplicationController are merged: of two values of a label the last one counts.
func (w *world) selector(pod *v1.Pod) labels.Selector {
	merged := labels.Set{}
	for _, s := range w.Services(pod.Namespace) {
		if s.Spec.Selector != nil && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			merged = labels.Merge(merged, s.Spec.Selector)
		}
	}
	var selectors []*metav1.LabelSelector
	for _, o := range pod.OwnerReferences {
		switch o.Kind {
		case "ReplicationController":
			if rc := w.ReplicationController(pod.Namespace, o.Name); rc != nil {
				merged = labels.Merge(merged, rc.Spec.Selector)
			}
		case "ReplicaSet":
			if rs := w.ReplicaSet(pod.Namespace, o.Name); rs != nil {
				selectors = append(selectors, rs.Spec.Selector)
			}
		case "StatefulSet":
			if ss := w.StatefulSet(pod.Namespace, o.Name); ss != nil {
				selectors = append(selectors, ss.Spec.Selector)
			}
		}
	}
	out := labels.SelectorFromSet(merged)
	for _, selector := range selectors {
		if s, err := metav1.LabelSelectorAsSelector(selector); err == nil && selector != nil {
			requirements, _ := s.Requirements()
			out = out.Add(requirements...)
		}
	}
	return out
}

// set copies the namespaces of a changing cluster.
func (w *world) set(from *plugintest.LiveCluster) {
	w.Namespaces = nil
	for name, labels := range from.NamespaceLabels() {
		w.Namespaces = append(w.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
}
