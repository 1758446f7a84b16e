package dynamicresources

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// claimsOf returns the claims of a pod, in the order of its spec.
//
// # Errors
//
// A claim does not exist, is being deleted, or was made for another pod.
func (d *DynamicResources) claimsOf(pod *v1.Pod) ([]*resourcev1.ResourceClaim, error) {
	var out []*resourcev1.ResourceClaim
	for i := range pod.Spec.ResourceClaims {
		name, generated, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return nil, err
		}
		if name == nil {
			continue // the pod needs no claim here, as its status says
		}
		claim := d.deps.Devices.Claims.ResourceClaim(pod.Namespace, *name)
		switch {
		case claim == nil:
			return nil, noClaim(pod.Namespace, *name)
		case claim.DeletionTimestamp != nil:
			return nil, fmt.Errorf("resourceclaim %q is being deleted", claim.Name)
		}
		if generated {
			if err := resourceclaim.IsForPod(pod, claim, false); err != nil {
				return nil, err
			}
		}
		out = append(out, claim)
	}
	return out, nil
}

func noClaim(namespace, name string) error {
	return fmt.Errorf("could not find ResourceClaim %q", namespace+"/"+name)
}

// PreEnqueue holds back pods whose claims are not there yet.
func (d *DynamicResources) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	for i, pod := range pods {
		if pod.Features&state.FeatureResourceClaims == 0 {
			continue
		}
		if _, err := d.claimsOf(pod.Object); err != nil {
			out[i] = plugin.NewStatus(abi.UnschedulableAndUnresolvable, err.Error())
		}
	}
}
