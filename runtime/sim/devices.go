package sim

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// generate creates the resource claims of a pod that come from templates, as the resource claim
// controller does, and returns the pod with their names.
func (v *volumes) generate(pod *v1.Pod) *v1.Pod {
	for i := range pod.Spec.ResourceClaims {
		c := &pod.Spec.ResourceClaims[i]
		if c.ResourceClaimTemplateName == nil ||
			slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(s v1.PodResourceClaimStatus) bool { return s.Name == c.Name }) {
			continue
		}
		template := v.templates[types.NamespacedName{Namespace: pod.Namespace, Name: *c.ResourceClaimTemplateName}]
		if template == nil {
			continue
		}
		name, controls := pod.Name+"-"+c.Name, true
		if v.store.ResourceClaim(pod.Namespace, name) == nil {
			claim := &resourcev1.ResourceClaim{ObjectMeta: *template.Spec.ObjectMeta.DeepCopy(), Spec: *template.Spec.Spec.DeepCopy()}
			claim.Namespace, claim.Name = pod.Namespace, name
			claim.UID = types.UID("sim-resourceclaim-" + pod.Namespace + "-" + name)
			claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &controls}}
			v.write(claim)
		}
		pod = pod.DeepCopy()
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: c.Name, ResourceClaimName: &name})
	}
	return pod
}

// devices returns the dependencies of DynamicResources.
func (v *volumes) devices() hostplugins.Devices {
	return hostplugins.NewDevices(v.store.Devices(), claimWriter{v}, v)
}

// claimWriter writes resource claims of a simulation, at once.
type claimWriter struct{ volumes *volumes }

var _ objects.ClaimWriter = claimWriter{}

// Read implements objects.ClaimWriter.
func (w claimWriter) Read(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	now := w.volumes.store.ResourceClaim(claim.Namespace, claim.Name)
	if now == nil || now.UID != claim.UID {
		return nil, fmt.Errorf("resource claim %s/%s is gone", claim.Namespace, claim.Name)
	}
	return now, nil
}

// Update implements objects.ClaimWriter.
func (w claimWriter) Update(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.write(claim)
}

// UpdateStatus implements objects.ClaimWriter.
func (w claimWriter) UpdateStatus(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.write(claim)
}

func (w claimWriter) write(claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	now := w.volumes.store.ResourceClaim(claim.Namespace, claim.Name)
	if now == nil || now.ResourceVersion != claim.ResourceVersion {
		return nil, fmt.Errorf("resource claim %s/%s has changed", claim.Namespace, claim.Name)
	}
	// As the API server has it: an allocation is removed, but never changed.
	if was, next := now.Status.Allocation, claim.Status.Allocation; was != nil && next != nil && !equality.Semantic.DeepEqual(was, next) {
		return nil, fmt.Errorf("resource claim %s/%s: status.allocation is immutable", claim.Namespace, claim.Name)
	}
	claim = claim.DeepCopy()
	w.volumes.write(claim)
	return claim, nil
}

// Create implements objects.ClaimWriter.
func (w claimWriter) Create(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	claim = claim.DeepCopy()
	claim.UID = types.UID("sim-resourceclaim-" + claim.Namespace + "-" + claim.Name)
	w.volumes.write(claim)
	w.volumes.special[claim.OwnerReferences[0].UID] = types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}
	return claim, nil
}

// Tell implements objects.ClaimWriter. Nobody would read it.
func (claimWriter) Tell(context.Context, *state.Pod, *v1.PodExtendedResourceClaimStatus) error {
	return nil
}

// Delete implements objects.ClaimWriter.
func (w claimWriter) Delete(claim *resourcev1.ResourceClaim) <-chan struct{} {
	w.volumes.goes(claim)
	done := make(chan struct{})
	close(done)
	return done
}

// Release implements objects.ClaimWriter.
func (w claimWriter) Release(claim *resourcev1.ResourceClaim, pod types.UID) {
	w.volumes.release(claim.Namespace, claim.Name, pod, false)
}

// Deallocate implements objects.ClaimWriter.
func (w claimWriter) Deallocate(claim *resourcev1.ResourceClaim, pod types.UID) {
	if _, err := w.write(claim); err != nil {
		w.volumes.tell.Activate(pod)
	}
}

// Waiting implements objects.ClaimWriter.
func (claimWriter) Waiting(*state.Pod, string) func(string, []*resourcev1.ResourceClaim) {
	return func(string, []*resourcev1.ResourceClaim) {}
}

// release removes a pod from the users of a claim. If it was the last one, and has gone, the claim
// gives its devices up, as the resource claim controller sees to.
func (v *volumes) release(namespace, name string, pod types.UID, gone bool) {
	now := v.store.ResourceClaim(namespace, name)
	uses := func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod }
	if now == nil || !slices.ContainsFunc(now.Status.ReservedFor, uses) {
		return
	}
	claim := now.DeepCopy()
	claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, uses)
	if gone && len(claim.Status.ReservedFor) == 0 {
		claim.Status.Allocation, claim.Status.Devices = nil, nil
		claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == resourcev1.Finalizer })
	}
	v.write(claim)
}

// releaseAll removes a pod that has gone from the users of its claims. The one for its extended resources
// goes, too.
func (v *volumes) releaseAll(pod *v1.Pod) {
	for i := range pod.Spec.ResourceClaims {
		if name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i]); err == nil && name != nil {
			v.release(pod.Namespace, *name, pod.UID, true)
		}
	}
	if name, ok := v.special[pod.UID]; ok {
		if claim := v.store.ResourceClaim(name.Namespace, name.Name); claim != nil {
			v.goes(claim)
		}
		delete(v.special, pod.UID)
	}
}
