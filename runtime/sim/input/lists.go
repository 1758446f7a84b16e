package input

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Related are the objects that a scheduler reads besides nodes and pods.
type Related struct {
	Namespaces             []*v1.Namespace                     `json:"namespaces,omitempty"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget     `json:"podDisruptionBudgets,omitempty"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim         `json:"persistentVolumeClaims,omitempty"`
	PersistentVolumes      []*v1.PersistentVolume              `json:"persistentVolumes,omitempty"`
	StorageClasses         []*storagev1.StorageClass           `json:"storageClasses,omitempty"`
	CSINodes               []*storagev1.CSINode                `json:"csiNodes,omitempty"`
	CSIDrivers             []*storagev1.CSIDriver              `json:"csiDrivers,omitempty"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity     `json:"csiStorageCapacities,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment       `json:"volumeAttachments,omitempty"`
	ResourceClaims         []*resourcev1.ResourceClaim         `json:"resourceClaims,omitempty"`
	ResourceClaimTemplates []*resourcev1.ResourceClaimTemplate `json:"resourceClaimTemplates,omitempty"`
	ResourceSlices         []*resourcev1.ResourceSlice         `json:"resourceSlices,omitempty"`
	DeviceClasses          []*resourcev1.DeviceClass           `json:"deviceClasses,omitempty"`
	DeviceTaintRules       []*resourcev1.DeviceTaintRule       `json:"deviceTaintRules,omitempty"`
	Services               []*v1.Service                       `json:"services,omitempty"`
	ReplicationControllers []*v1.ReplicationController         `json:"replicationControllers,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet                `json:"replicaSets,omitempty"`
	StatefulSets           []*appsv1.StatefulSet               `json:"statefulSets,omitempty"`
}

// List is the objects of one kind. One that is missing is nil.
type List struct {
	Name    string // in JSON
	Kind    schema.GroupVersionKind
	Objects []Object
}

// Object is an object of a List.
type Object interface {
	runtime.Object
	metav1.Object
}

// ListOf makes a List.
func ListOf[T interface {
	comparable
	Object
}](name string, gv schema.GroupVersion, kind string, objects []T) List {
	var none T
	l := List{Name: name, Kind: gv.WithKind(kind)}
	for _, o := range objects {
		if o == none {
			l.Objects = append(l.Objects, nil)
		} else {
			l.Objects = append(l.Objects, o)
		}
	}
	return l
}

// Lists returns the objects, kind by kind.
func (r *Related) Lists() []List {
	return slices.Concat([]List{
		ListOf("namespaces", v1.SchemeGroupVersion, "Namespace", r.Namespaces),
		ListOf("podDisruptionBudgets", policyv1.SchemeGroupVersion, "PodDisruptionBudget", r.PodDisruptionBudgets),
	}, r.storage(), r.owners())
}

func (r *Related) storage() []List {
	return []List{
		ListOf("persistentVolumeClaims", v1.SchemeGroupVersion, "PersistentVolumeClaim", r.PersistentVolumeClaims),
		ListOf("persistentVolumes", v1.SchemeGroupVersion, "PersistentVolume", r.PersistentVolumes),
		ListOf("storageClasses", storagev1.SchemeGroupVersion, "StorageClass", r.StorageClasses),
		ListOf("csiNodes", storagev1.SchemeGroupVersion, "CSINode", r.CSINodes),
		ListOf("csiDrivers", storagev1.SchemeGroupVersion, "CSIDriver", r.CSIDrivers),
		ListOf("csiStorageCapacities", storagev1.SchemeGroupVersion, "CSIStorageCapacity", r.CSIStorageCapacities),
		ListOf("volumeAttachments", storagev1.SchemeGroupVersion, "VolumeAttachment", r.VolumeAttachments),
		ListOf("resourceClaims", resourcev1.SchemeGroupVersion, "ResourceClaim", r.ResourceClaims),
		ListOf("resourceClaimTemplates", resourcev1.SchemeGroupVersion, "ResourceClaimTemplate", r.ResourceClaimTemplates),
		ListOf("resourceSlices", resourcev1.SchemeGroupVersion, "ResourceSlice", r.ResourceSlices),
		ListOf("deviceClasses", resourcev1.SchemeGroupVersion, "DeviceClass", r.DeviceClasses),
		ListOf("deviceTaintRules", resourcev1.SchemeGroupVersion, "DeviceTaintRule", r.DeviceTaintRules),
	}
}

func (r *Related) owners() []List {
	return []List{
		ListOf("services", v1.SchemeGroupVersion, "Service", r.Services),
		ListOf("replicationControllers", v1.SchemeGroupVersion, "ReplicationController", r.ReplicationControllers),
		ListOf("replicaSets", appsv1.SchemeGroupVersion, "ReplicaSet", r.ReplicaSets),
		ListOf("statefulSets", appsv1.SchemeGroupVersion, "StatefulSet", r.StatefulSets),
	}
}

// ofRelated are the kinds of Related.
func ofRelated() (out []schema.GroupVersionKind) {
	for _, l := range new(Related).Lists() {
		out = append(out, l.Kind)
	}
	return out
}

// Add adds an object, if it is of a kind of Related. It reports whether it is.
func (r *Related) Add(o runtime.Object) bool {
	switch x := o.(type) {
	case *v1.Namespace:
		r.Namespaces = append(r.Namespaces, x)
	case *policyv1.PodDisruptionBudget:
		r.PodDisruptionBudgets = append(r.PodDisruptionBudgets, x)
	case *v1.Service:
		r.Services = append(r.Services, x)
	case *v1.PersistentVolume:
		r.PersistentVolumes = append(r.PersistentVolumes, x)
	case *v1.PersistentVolumeClaim:
		r.PersistentVolumeClaims = append(r.PersistentVolumeClaims, x)
	case *storagev1.StorageClass:
		r.StorageClasses = append(r.StorageClasses, x)
	case *storagev1.CSINode:
		r.CSINodes = append(r.CSINodes, x)
	case *storagev1.CSIStorageCapacity:
		r.CSIStorageCapacities = append(r.CSIStorageCapacities, x)
	case *storagev1.CSIDriver:
		r.CSIDrivers = append(r.CSIDrivers, x)
	case *storagev1.VolumeAttachment:
		r.VolumeAttachments = append(r.VolumeAttachments, x)
	case *resourcev1.ResourceClaim:
		r.ResourceClaims = append(r.ResourceClaims, x)
	case *resourcev1.ResourceClaimTemplate:
		r.ResourceClaimTemplates = append(r.ResourceClaimTemplates, x)
	case *resourcev1.ResourceSlice:
		r.ResourceSlices = append(r.ResourceSlices, x)
	case *resourcev1.DeviceClass:
		r.DeviceClasses = append(r.DeviceClasses, x)
	case *resourcev1.DeviceTaintRule:
		r.DeviceTaintRules = append(r.DeviceTaintRules, x)
	case *v1.ReplicationController:
		r.ReplicationControllers = append(r.ReplicationControllers, x)
	case *appsv1.ReplicaSet:
		r.ReplicaSets = append(r.ReplicaSets, x)
	case *appsv1.StatefulSet:
		r.StatefulSets = append(r.StatefulSets, x)
	default:
		return false
	}
	return true
}

// Storage returns the storage objects, kind by kind: claims, volumes, classes, CSINodes,
// CSIDrivers, capacities and attachments; then resource claims, their templates, resource slices,
// device classes and rules that taint devices.
func (r *Related) Storage() []metav1.Object { return flat(r.storage()) }

// Owners returns the services and the controllers of pods.
func (r *Related) Owners() []metav1.Object { return flat(r.owners()) }

func flat(lists []List) (out []metav1.Object) {
	for _, l := range lists {
		for _, o := range l.Objects {
			out = append(out, o)
		}
	}
	return out
}
