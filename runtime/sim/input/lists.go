package input

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Storage returns the storage objects, kind by kind: claims, volumes, classes, CSINodes,
// CSIDrivers, capacities and attachments; then resource claims, their templates, resource slices,
// device classes and rules that taint devices.
func (o *Objects) Storage() []metav1.Object {
	var out []metav1.Object
	out = appendAll(out, o.PersistentVolumeClaims)
	out = appendAll(out, o.PersistentVolumes)
	out = appendAll(out, o.StorageClasses)
	out = appendAll(out, o.CSINodes)
	out = appendAll(out, o.CSIDrivers)
	out = appendAll(out, o.CSIStorageCapacities)
	out = appendAll(out, o.VolumeAttachments)
	out = appendAll(out, o.ResourceClaims)
	out = appendAll(out, o.ResourceClaimTemplates)
	out = appendAll(out, o.ResourceSlices)
	out = appendAll(out, o.DeviceClasses)
	return appendAll(out, o.DeviceTaintRules)
}

// Owners returns the services and the controllers of pods.
func (o *Objects) Owners() []metav1.Object {
	var out []metav1.Object
	out = appendAll(out, o.Services)
	out = appendAll(out, o.ReplicationControllers)
	out = appendAll(out, o.ReplicaSets)
	return appendAll(out, o.StatefulSets)
}

func appendAll[T metav1.Object](out []metav1.Object, list []T) []metav1.Object {
	for _, object := range list {
		out = append(out, object)
	}
	return out
}
