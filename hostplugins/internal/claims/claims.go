// Package claims returns the names of pods' persistent volume claims, and kube-scheduler's
// error messages for volume objects that do not exist.
package claims

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/storage/ephemeral"
)

// Key identifies a claim.
type Key struct{ Namespace, Name string }

// String returns "namespace/name".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Of returns the name of the claim that a volume of a pod uses; ok is false for a volume
// without a claim. The claim of an ephemeral volume is created for the pod (KEP-1698), and its
// name is derived from the pod's.
func Of(pod *v1.Pod, volume *v1.Volume) (name string, isEphemeral, ok bool) {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName, false, true
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume), true, true
	}
	return "", false, false
}

// Uses reports whether a pod uses a claim; with withEphemeral, also one that was created for
// it.
func Uses(pod *v1.Pod, claim *v1.PersistentVolumeClaim, withEphemeral bool) bool {
	if pod.Namespace != claim.Namespace {
		return false
	}
	for i := range pod.Spec.Volumes {
		name, isEphemeral, ok := Of(pod, &pod.Spec.Volumes[i])
		if ok && name == claim.Name && (withEphemeral || !isEphemeral) {
			return true
		}
	}
	return false
}

// NoClaim is the error for a claim that does not exist.
func NoClaim(name string) error {
	return apierrors.NewNotFound(v1.Resource("persistentvolumeclaim"), name)
}

// NoVolume is the error for a volume that does not exist.
func NoVolume(name string) error {
	return apierrors.NewNotFound(v1.Resource("persistentvolume"), name)
}

// NoClass is the error for a storage class that does not exist.
func NoClass(name string) error {
	return apierrors.NewNotFound(storagev1.Resource("storageclass"), name)
}
