package volumebinding

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

const preFilterKey = "PreFilter"

// PreFilter sorts the pod's claims into bound ones and those that wait for the pod, and skips a
// pod without claims. Claims that cannot be used as they are, and unbound claims with immediate
// binding, make the pod unschedulable until they change.
func (b *VolumeBinding) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	if c.Pod.Features&state.FeatureVolumeClaims == 0 {
		return nil, plugin.NewStatus(abi.Skip)
	}
	if err := b.usable(c.Pod.Object); err != nil {
		return nil, plugin.NewStatus(abi.UnschedulableAndUnresolvable, err.Error())
	}
	b.deps.Ledger.update()
	p, immediate, err := b.plan(c)
	switch {
	case err != nil:
		return nil, plugin.Fail(err)
	case immediate:
		return nil, plugin.NewStatus(abi.UnschedulableAndUnresolvable, ReasonImmediate)
	}
	c.State.Write(Name, preFilterKey, p)
	return nil, nil
}

// usable returns why a claim of the pod cannot be used; nil if all can.
func (b *VolumeBinding) usable(pod *v1.Pod) error {
	for i := range pod.Spec.Volumes {
		name, isEphemeral, ok := claims.Of(pod, &pod.Spec.Volumes[i])
		if !ok {
			continue
		}
		claim := b.deps.Storage.Claims.Claim(pod.Namespace, name)
		switch {
		case claim == nil && isEphemeral:
			return fmt.Errorf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)
		case claim == nil:
			return claims.NoClaim(name)
		case claim.Status.Phase == v1.ClaimLost:
			return fmt.Errorf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.Name, claim.Spec.VolumeName)
		case claim.DeletionTimestamp != nil:
			return fmt.Errorf("persistentvolumeclaim %q is being deleted", claim.Name)
		}
		if isEphemeral {
			if err := ephemeral.VolumeIsForPod(pod, claim); err != nil {
				return err
			}
		}
	}
	return nil
}

// fullyBound reports whether a claim is bound to a volume and the volume to it.
func fullyBound(claim *v1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeName != "" && metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted)
}

// waits reports whether a claim is bound only when its first pod is placed.
func (b *VolumeBinding) waits(claim *v1.PersistentVolumeClaim) (bool, error) {
	name := volume.GetPersistentVolumeClaimClass(claim)
	if name == "" {
		return false, nil
	}
	class := b.deps.Storage.Classes.StorageClass(name)
	switch {
	case class == nil:
		return false, nil
	case class.VolumeBindingMode == nil:
		return false, fmt.Errorf("VolumeBindingMode not set for StorageClass %q", name)
	}
	return *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer, nil
}

// plan resolves the pod's claims; immediate reports that an unbound claim does not wait for the
// pod.
func (b *VolumeBinding) plan(c *plugin.Cycle) (p *plan, immediate bool, err error) {
	pod := c.Pod.Object
	p = &plan{snapshot: c.Snapshot}
	for i := range pod.Spec.Volumes {
		name, _, ok := claims.Of(pod, &pod.Spec.Volumes[i])
		if !ok {
			continue
		}
		claim := b.deps.Ledger.claim(pod.Namespace, name)
		if claim == nil {
			return nil, false, fmt.Errorf("error getting PVC %q: %w", pod.Namespace+"/"+name, claims.NoClaim(name))
		}
		if fullyBound(claim) {
			p.bound = append(p.bound, b.bound(claim, c.Snapshot))
			continue
		}
		// A claim that already names its volume is bound by the controller.
		waits, err := b.waits(claim)
		if err != nil {
			return nil, false, err
		}
		if !waits || claim.Spec.VolumeName != "" {
			immediate = true
			continue
		}
		u := &unbound{claim: claim, class: volume.GetPersistentVolumeClaimClass(claim)}
		if node, selected := claim.Annotations[volume.AnnSelectedNode]; selected {
			u.node = node
			p.selected = append(p.selected, u)
		} else {
			p.open = append(p.open, u)
		}
	}
	if immediate {
		return nil, true, nil
	}
	b.resolve(p)
	return p, false, nil
}
