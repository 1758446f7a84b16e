// Package claims names the persistent volume claims of pods, and words what the
// volume plugins say of objects that are not there as kube-scheduler does.
package claims

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/storage/ephemeral"
)

// Key tells claims apart.
type Key struct{ Namespace, Name string }

// String returns "namespace/name".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Of returns the name of the claim that a volume of a pod uses; ok is false for a
// volume that uses none. The claim of an ephemeral volume is made for the pod
// (KEP-1698) and has a name that follows from the pod's.
func Of(pod *v1.Pod, volume *v1.Volume) (name string, isEphemeral, ok bool) {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName, false, true
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume), true, true
	}
	return "", false, false
}

// Uses reports whether a pod uses a claim, with withEphemeral also one that is
// made for it.
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

// NoClaim is the error of a claim that is not there.
func NoClaim(name string) error {
	return apierrors.NewNotFound(v1.Resource("persistentvolumeclaim"), name)
}

// NoVolume is the error of a volume that is not there.
func NoVolume(name string) error {
	return apierrors.NewNotFound(v1.Resource("persistentvolume"), name)
}

// NoClass is the error of a storage class that is not there.
func NoClass(name string) error {
	return apierrors.NewNotFound(storagev1.Resource("storageclass"), name)
}
