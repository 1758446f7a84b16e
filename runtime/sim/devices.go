package sim

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
