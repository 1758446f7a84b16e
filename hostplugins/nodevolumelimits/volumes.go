package nodevolumelimits

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/hostplugins/internal/migration"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// attachable is a volume as a driver attaches it to a node.
type attachable struct {
	driver, handle string
	// unbound distinguishes a claim without a volume, whose handle is its name.
	unbound bool
}

// reader determines as what the volumes of pods are attached.
type reader struct{ deps Deps }

// asked configures how a pod is read.
type asked struct {
	// incoming marks the incoming pod, for which a missing claim is an error. A missing claim of
	// a placed pod is ignored.
	incoming bool
	// inline includes inline volumes, which only a node with a CSINode can attach.
	inline bool
	// native leaves out volumes of in-tree plugins, which a node without a CSINode does not attach.
	native bool
	// note, if not nil, is called with each object that the answer depends on.
	note func(objects.StorageKey)
}

// volumes appends as what the pod's volumes are attached. A volume that several claims refer to
// appears several times.
func (r *reader) volumes(dst []attachable, pod *v1.Pod, how asked) ([]attachable, error) {
	if how.note == nil {
		how.note = func(objects.StorageKey) {}
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		name, isEphemeral, ok := claims.Of(pod, v)
		if !ok {
			if how.inline {
				var err error
				if dst, err = inline(dst, v, pod.Namespace); err != nil {
					return dst, err
				}
			}
			continue
		}
		if name == "" {
			return dst, errors.New("PersistentVolumeClaim had no name")
		}
		how.note(objects.StorageKey{Kind: state.PersistentVolumeClaimResource, Namespace: pod.Namespace, Name: name})
		claim := r.deps.Claims.Claim(pod.Namespace, name)
		if claim == nil {
			if how.incoming {
				return dst, fmt.Errorf("looking up PVC %s/%s: %w", pod.Namespace, name, claims.NoClaim(name))
			}
			continue
		}
		if isEphemeral {
			if err := ephemeral.VolumeIsForPod(pod, claim); err != nil {
				return dst, err
			}
		}
		if a := r.ofClaim(claim, how); a.driver != "" && a.handle != "" {
			dst = append(dst, a)
		}
	}
	return dst, nil
}

// inline appends as what an inline volume is attached.
func inline(dst []attachable, v *v1.Volume, namespace string) ([]attachable, error) {
	inTree, ok := migration.Inline(v)
	if !ok || !migration.Served(inTree) {
		return dst, nil
	}
	pv, err := migration.TranslateInline(v, namespace)
	if err != nil || pv.Spec.CSI == nil {
		return dst, err
	}
	return append(dst, attachable{driver: pv.Spec.CSI.Driver, handle: pv.Spec.CSI.VolumeHandle}), nil
}

// ofClaim returns as what a claim is attached; the result has no driver if no CSI driver serves
// the claim.
func (r *reader) ofClaim(claim *v1.PersistentVolumeClaim, how asked) attachable {
	if name := claim.Spec.VolumeName; name != "" {
		how.note(objects.StorageKey{Kind: state.PersistentVolumeResource, Name: name})
		if pv := r.deps.Volumes.Volume(name); pv != nil {
			return ofVolume(pv, how.native)
		}
		// The claim may have been bound manually to a volume that does not exist yet.
	}
	return r.ofClass(claim, how)
}

// ofVolume returns as what a volume is attached.
func ofVolume(pv *v1.PersistentVolume, native bool) attachable {
	source := pv.Spec.CSI
	if source == nil && native {
		return attachable{}
	}
	if source == nil {
		inTree, ok := migration.InTree(pv)
		if !ok || !migration.Served(inTree) {
			return attachable{}
		}
		translated, err := migration.Translate(pv)
		if err != nil || translated.Spec.CSI == nil {
			return attachable{}
		}
		source = translated.Spec.CSI
	}
	return attachable{driver: source.Driver, handle: source.VolumeHandle}
}

// ofClass returns as what a claim without a volume will be attached: one volume of the driver
// of its class. A claim without a class cannot wait for a pod, so it is bound before pods are
// placed.
func (r *reader) ofClass(claim *v1.PersistentVolumeClaim, how asked) attachable {
	name := volume.GetPersistentVolumeClaimClass(claim)
	if name == "" {
		return attachable{}
	}
	how.note(objects.StorageKey{Kind: state.StorageClassResource, Name: name})
	class := r.deps.Classes.StorageClass(name)
	if class == nil {
		return attachable{}
	}
	driver, ok := migration.Provisioner(class.Provisioner)
	if !ok || how.native && driver != class.Provisioner {
		return attachable{}
	}
	return attachable{driver: driver, handle: claim.Namespace + "/" + claim.Name, unbound: true}
}
