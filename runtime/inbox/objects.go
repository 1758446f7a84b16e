package inbox

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// protobuf is what all objects of the API implement.
type protobuf interface {
	metav1.Object
	Size() int
	MarshalToSizedBuffer(out []byte) (int, error)
	Unmarshal(data []byte) error
}

// newObject returns an empty object of a kind.
func newObject(kind string) (protobuf, error) {
	switch kind {
	case "Node":
		return &v1.Node{}, nil
	case "Pod":
		return &v1.Pod{}, nil
	case "Namespace":
		return &v1.Namespace{}, nil
	case "PersistentVolume":
		return &v1.PersistentVolume{}, nil
	case "PersistentVolumeClaim":
		return &v1.PersistentVolumeClaim{}, nil
	case "StorageClass":
		return &storagev1.StorageClass{}, nil
	case "CSINode":
		return &storagev1.CSINode{}, nil
	case "CSIDriver":
		return &storagev1.CSIDriver{}, nil
	case "CSIStorageCapacity":
		return &storagev1.CSIStorageCapacity{}, nil
	case "VolumeAttachment":
		return &storagev1.VolumeAttachment{}, nil
	case "ResourceClaim":
		return &resourcev1.ResourceClaim{}, nil
	case "ResourceSlice":
		return &resourcev1.ResourceSlice{}, nil
	case "DeviceClass":
		return &resourcev1.DeviceClass{}, nil
	case "DeviceTaintRule":
		return &resourcev1.DeviceTaintRule{}, nil
	case "Service":
		return &v1.Service{}, nil
	case "ReplicationController":
		return &v1.ReplicationController{}, nil
	case "ReplicaSet":
		return &appsv1.ReplicaSet{}, nil
	case "StatefulSet":
		return &appsv1.StatefulSet{}, nil
	case "PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}, nil
	}
	return nil, fmt.Errorf("objects of kind %q do not enter the loop", kind)
}

// kindOf returns the kind of an object; "" for nil.
func kindOf(object metav1.Object) string {
	switch object.(type) {
	case nil:
		return ""
	case *v1.Node:
		return "Node"
	case *v1.Pod:
		return "Pod"
	case *v1.Namespace:
		return "Namespace"
	case *v1.PersistentVolume:
		return "PersistentVolume"
	case *v1.PersistentVolumeClaim:
		return "PersistentVolumeClaim"
	case *storagev1.StorageClass:
		return "StorageClass"
	case *storagev1.CSINode:
		return "CSINode"
	case *storagev1.CSIDriver:
		return "CSIDriver"
	case *storagev1.CSIStorageCapacity:
		return "CSIStorageCapacity"
	case *storagev1.VolumeAttachment:
		return "VolumeAttachment"
	case *resourcev1.ResourceClaim:
		return "ResourceClaim"
	case *resourcev1.ResourceSlice:
		return "ResourceSlice"
	case *resourcev1.DeviceClass:
		return "DeviceClass"
	case *resourcev1.DeviceTaintRule:
		return "DeviceTaintRule"
	case *v1.Service:
		return "Service"
	case *v1.ReplicationController:
		return "ReplicationController"
	case *appsv1.ReplicaSet:
		return "ReplicaSet"
	case *appsv1.StatefulSet:
		return "StatefulSet"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget"
	}
	panic(fmt.Sprintf("BUG: a %T enters the loop", object))
}

// Keeps reports whether annotations with a key, or with a prefix, are recorded because of one that Settings.Annotations names. kubectl's
// has the environment of pods, so only its name means it.
func Keeps(kept, key string) bool {
	prefix, is := strings.CutSuffix(kept, "*")
	return kept == key || is && strings.HasPrefix(key, prefix) && key != v1.LastAppliedConfigAnnotation
}
