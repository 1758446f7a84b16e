package dynamicresources

import (
	"context"
	"errors"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// stateKey is the key of an attempt.
const stateKey = "attempt"

// attempt is what the plugin knows about a pod, from PreFilter to PreBind, which changes the claims
// beside the loop.
type attempt struct {
	claims []podClaim // empty if the pod names none, or PreFilter rejected it
	// special is the claim for extended resources; nil if there is none. Reserve adds it to claims.
	special *special
	// search is false if all claims are allocated.
	search bool
	// found has the results of Filter by node. kept is true if it took some answers from earlier pods. Such
	// nodes are not in found, unless claims have alternatives.
	found map[string]found
	kept  bool
	// running ends with the scheduler; PreBind's own context also ends when the pod must make room for another.
	running context.Context //nolint:containedctx // PreBind does not get it
}

// found is the devices of a node for a pod.
type found struct {
	// results has an allocation for each claim that was not allocated, in order, and one for the
	// special claim if that is not nil. It is nil if the answer was kept.
	results []resourcev1.AllocationResult
	special *variant
	score   int64 // of the results
}

// empty reports whether the plugin has nothing to do for the pod.
func (a *attempt) empty() bool { return len(a.claims) == 0 && a.special == nil }

// podClaim is a claim of the pod.
type podClaim struct {
	// object is the claim at the start of the cycle, or as PreBind wrote it.
	object *resourcev1.ResourceClaim
	// reach has the nodes on which the allocated devices can be used; nil means all.
	reach *nodeaffinity.NodeSelector
	// unavailable is true if the allocated devices cannot be used on a node, or are not ready.
	unavailable bool
	// allocation is what Reserve allocated; nil if the claim was allocated before.
	allocation *resourcev1.AllocationResult
	flight     *resourcev1.ResourceClaim // with the allocation; nil if the pod names the claim twice
	// special has the extended resources of a claim that PreBind creates; nil for other claims.
	special *variant
}

// Clone returns the attempt itself: removing pods from a node frees no devices, so that a what-if
// has the same answers.
func (a *attempt) Clone() state.Value { return a }

// errNotSeen is the error that kube-scheduler's plugin gets when it reads its state after an
// earlier plugin has ended PreFilter (k8s.io/kube-scheduler/framework, ErrNotFound). The plugin
// fails with it, which ends PostFilter, so that nothing is preempted.
var errNotSeen = errors.New("not found")

func attemptOf(s *state.CycleState) *attempt {
	a, _ := s.Read(Name, stateKey).(*attempt)
	return a
}

// unresolvable is the answer for a pod that fits nowhere until an object changes.
func unresolvable(reason string) *plugin.Status {
	return plugin.NewStatus(abi.UnschedulableAndUnresolvable, reason)
}

// PreFilter looks the pod's claims up and skips a pod without claims and without resources that device
// classes provide. A claim in use or in flight, and a class that does not exist, make the pod wait.
func (d *DynamicResources) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	a := &attempt{}
	c.State.Write(Name, stateKey, a)
	if c.Pod.Features&state.FeatureResourceClaims == 0 && len(c.Pod.Requests.Scalars) == 0 {
		return nil, plugin.NewStatus(abi.Skip)
	}
	claims, err := d.claimsOf(c.Pod.Object)
	if err != nil {
		return nil, unresolvable(err.Error())
	}
	d.deps.Ledger.update()
	special := d.specialOf(c.Pod)
	if len(claims) == 0 && special == nil {
		return nil, plugin.NewStatus(abi.Skip)
	}
	list := make([]podClaim, len(claims))
	allocate := special != nil && special.stale == nil
	for i, claim := range claims {
		list[i].object = claim
		if claim.Status.Allocation == nil {
			if status := d.allocatable(claim); status != nil {
				return nil, status
			}
			allocate = true
			continue
		}
		if !resourceclaim.CanBeReserved(claim) && !resourceclaim.IsReservedForPod(c.Pod.Object, claim, false) {
			return nil, unresolvable("resourceclaim in use")
		}
		if selector := claim.Status.Allocation.NodeSelector; selector != nil {
			if list[i].reach, err = nodeaffinity.NewNodeSelector(selector); err != nil {
				return nil, plugin.Fail(err)
			}
		}
	}
	if allocate {
		a.search, a.found = true, make(map[string]found)
	}
	a.claims, a.special = list, special
	return nil, nil
}

// allocatable returns why devices cannot be searched for a claim yet; nil if they can.
func (d *DynamicResources) allocatable(claim *resourcev1.ResourceClaim) *plugin.Status {
	name := claim.Namespace + "/" + claim.Name
	if d.deps.Ledger.inFlight(claim.UID) {
		return unresolvable(fmt.Sprintf("resource claim %s is in the process of being allocated", name))
	}
	for i := range claim.Spec.Devices.Requests {
		r := &claim.Spec.Devices.Requests[i]
		switch {
		case r.Exactly != nil:
			if status := d.classExists(r.Exactly.DeviceClassName, r.Name); status != nil {
				return status
			}
		case len(r.FirstAvailable) > 0:
			for j := range r.FirstAvailable {
				s := &r.FirstAvailable[j]
				if status := d.classExists(s.DeviceClassName, resourceclaim.CreateSubRequestRef(r.Name, s.Name)); status != nil {
					return status
				}
			}
		default:
			return unresolvable(fmt.Sprintf("resource claim %s, request %s: unknown request type", name, r.Name))
		}
	}
	return nil
}

func (d *DynamicResources) classExists(class, request string) *plugin.Status {
	switch {
	case class == "":
		return plugin.Fail(fmt.Errorf("request %s: unsupported request type", request))
	case d.deps.Devices.Classes.DeviceClass(class) == nil:
		return unresolvable(fmt.Sprintf("request %s: device class %s does not exist", request, class))
	}
	return nil
}
