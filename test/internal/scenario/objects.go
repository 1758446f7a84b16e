package scenario

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects holds API objects by kind. Pods are on nodes.
type Objects struct {
	Nodes                  []*v1.Node                      `json:"nodes,omitempty"`
	Namespaces             []*v1.Namespace                 `json:"namespaces,omitempty"`
	Pods                   []*v1.Pod                       `json:"pods,omitempty"`
	Services               []*v1.Service                   `json:"services,omitempty"`
	ReplicationControllers []*v1.ReplicationController     `json:"replicationControllers,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets,omitempty"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets,omitempty"`
	PersistentVolumes      []*v1.PersistentVolume          `json:"persistentVolumes,omitempty"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim     `json:"persistentVolumeClaims,omitempty"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers,omitempty"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments,omitempty"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets,omitempty"`
}

// The kinds of Objects, as used in references.
const (
	KindNode                  = "Node"
	KindNamespace             = "Namespace"
	KindPod                   = "Pod"
	KindService               = "Service"
	KindReplicationController = "ReplicationController"
	KindReplicaSet            = "ReplicaSet"
	KindStatefulSet           = "StatefulSet"
	KindPersistentVolume      = "PersistentVolume"
	KindPersistentVolumeClaim = "PersistentVolumeClaim"
	KindStorageClass          = "StorageClass"
	KindCSINode               = "CSINode"
	KindCSIDriver             = "CSIDriver"
	KindCSIStorageCapacity    = "CSIStorageCapacity"
	KindVolumeAttachment      = "VolumeAttachment"
	KindPodDisruptionBudget   = "PodDisruptionBudget"
)

// Each calls yield with each object and its kind, namespaces and nodes first.
func (o *Objects) Each(yield func(kind string, object metav1.Object)) {
	each(yield, KindNamespace, o.Namespaces)
	each(yield, KindNode, o.Nodes)
	each(yield, KindStorageClass, o.StorageClasses)
	each(yield, KindCSIDriver, o.CSIDrivers)
	each(yield, KindCSINode, o.CSINodes)
	each(yield, KindCSIStorageCapacity, o.CSIStorageCapacities)
	each(yield, KindPersistentVolume, o.PersistentVolumes)
	each(yield, KindPersistentVolumeClaim, o.PersistentVolumeClaims)
	each(yield, KindVolumeAttachment, o.VolumeAttachments)
	each(yield, KindService, o.Services)
	each(yield, KindReplicationController, o.ReplicationControllers)
	each(yield, KindReplicaSet, o.ReplicaSets)
	each(yield, KindStatefulSet, o.StatefulSets)
	each(yield, KindPodDisruptionBudget, o.PodDisruptionBudgets)
	each(yield, KindPod, o.Pods)
}

func each[T metav1.Object](yield func(string, metav1.Object), kind string, objects []T) {
	for _, object := range objects {
		yield(kind, object)
	}
}

// First returns the first object, nil if there is none.
func (o *Objects) First() metav1.Object {
	var first metav1.Object
	o.Each(func(_ string, object metav1.Object) {
		if first == nil {
			first = object
		}
	})
	return first
}

// Ref names an object: "Kind/name" or "Kind/namespace/name".
type Ref string

// RefOf returns the name of an object.
func RefOf(kind string, object metav1.Object) Ref {
	if object.GetNamespace() == "" {
		return Ref(kind + "/" + object.GetName())
	}
	return Ref(kind + "/" + object.GetNamespace() + "/" + object.GetName())
}

// Split returns the parts of a name.
func (r Ref) Split() (kind, namespace, name string) {
	kind, rest, _ := strings.Cut(string(r), "/")
	if namespace, name, ok := strings.Cut(rest, "/"); ok {
		return kind, namespace, name
	}
	return kind, "", rest
}
