package devices

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What others do to slices and claims, between pods and while one is being bound.

// change deletes or changes a slice, sometimes.
func (r *run) change(all []*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
	if len(all) > 0 && r.chance(10) {
		at := r.IntN(len(all))
		for _, s := range r.sides {
			s.slice(all[at], true)
		}
		all = slices.Delete(all, at, at+1)
	}
	if len(all) > 0 && (r.is(Capacity) || r.is(Counters)) && r.chance(40) {
		pool := pick(r.cluster, all...).Spec.Pool.Name
		if some := r.holders(func(r *resourcev1.DeviceRequestAllocationResult) bool { return r.ShareID != nil }); len(some) > 0 && r.chance(80) {
			pool = pick(r.cluster, some...).Status.Allocation.Devices.Results[0].Pool
		}
		for _, slice := range r.reshare(all, pool) {
			for _, s := range r.sides {
				s.slice(slice, false)
			}
		}
	}
	return all
}

// ruled adds, changes or deletes a rule that taints devices, sometimes.
func (r *run) ruled() {
	if !r.is(Taints) || !r.chance(50) {
		return
	}
	rule, gone := r.rule(), r.chance(30)
	for _, s := range r.sides {
		s.rule(rule, gone)
	}
}

// holders returns the claims that have a device for which a condition holds.
func (r *run) holders(is func(*resourcev1.DeviceRequestAllocationResult) bool) (out []*resourcev1.ResourceClaim) {
	for _, name := range r.claims {
		claim := r.sides[0].api.claims[key{"default", name}]
		if claim == nil || claim.Status.Allocation == nil {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			if is(&claim.Status.Allocation.Devices.Results[i]) {
				out = append(out, claim)
				break
			}
		}
	}
	return out
}

// deallocate takes a claim's devices away when its pods have ended, sometimes.
func (r *run) deallocate() {
	some := r.holders(func(*resourcev1.DeviceRequestAllocationResult) bool { return true })
	if len(some) == 0 || len(r.inUse) > 0 || !r.chance(50) {
		return
	}
	name := pick(r.cluster, some...).Name
	for _, s := range r.sides {
		if now, err := s.api.get("default", name); err == nil {
			next := now.DeepCopy()
			next.Status, next.Finalizers = resourcev1.ResourceClaimStatus{}, nil
			s.api.set(next)
		}
	}
}

// meddle changes a claim while a pod is being bound that may use it.
func (r *run) meddle() {
	name, what, uid := pick(r.cluster, r.claims...), r.IntN(4), r.nextUID()
	for _, s := range r.sides {
		now, err := s.api.get("default", name)
		if err != nil {
			continue
		}
		next := now.DeepCopy()
		switch {
		case what == 0 && now.Status.Allocation == nil:
			next.Finalizers = []string{resourcev1.Finalizer}
			next.Status.Allocation = &resourcev1.AllocationResult{AllocationTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}
			next.Status.Allocation.Devices = resourcev1.DeviceAllocationResult{
				Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r0", Driver: driver, Pool: "elsewhere", Device: "d0"}},
			}
		case what == 1 && now.Status.Allocation != nil:
			next.Status.ReservedFor = append(next.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: string(uid), UID: uid})
		default:
			next.Labels = map[string]string{"changed": "true"}
		}
		s.api.set(next)
	}
}

// taken reports whether a claim has a device, or is about to get it.
func (r *run) taken(wanted *resourcev1.DeviceRequestAllocationResult) bool {
	return len(r.inUse) > 0 /* perhaps */ || len(r.holders(func(x *resourcev1.DeviceRequestAllocationResult) bool {
		return x.Driver == wanted.Driver && x.Pool == wanted.Pool && x.Device == wanted.Device
	})) > 0
}

// own makes the pod the owner of a claim, sometimes.
func (r *run) own(name string, pod *v1.Pod) {
	if !r.chance(80) {
		return
	}
	for _, s := range r.sides {
		if now, err := s.api.get("default", name); err == nil && len(now.OwnerReferences) == 0 {
			next, controls := now.DeepCopy(), true
			next.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &controls}}
			s.api.set(next)
		}
	}
}
