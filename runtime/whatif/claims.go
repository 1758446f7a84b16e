package whatif

import (
	"fmt"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// pods maps pods of removed nodes to those that a controller would create instead; "" for none.
type pods map[types.UID]types.UID

// owned reports whether a claim was made for one of the pods, and for which that would be instead.
func (p pods) owned(claim metav1.Object) (instead types.UID, ok bool) {
	owner := metav1.GetControllerOfNoCopy(claim)
	if owner == nil || owner.Kind != "Pod" {
		return "", false
	}
	instead, ok = p[owner.UID]
	return instead, ok
}

// storage takes the cluster's storage objects without what left with pods, and adds the claims of the question.
//
// The claim of an ephemeral volume is deleted with its pod, and the simulation creates another one with the next pod. A resource
// claim from a template goes to the next pod, without devices: its template may not be known. Others are free once nobody
// uses them.
func (q *question) storage(c *Cluster, r *Request, left pods) {
	replaced, deleted := make(map[nameOf]bool), make(map[types.UID]bool)
	for _, o := range r.claims() {
		replaced[name(o)] = true
	}
	for _, o := range c.Storage {
		if claim, ok := o.(*v1.PersistentVolumeClaim); ok {
			_, deleted[claim.UID] = left.owned(claim)
		}
	}
	var classes []*storagev1.StorageClass
	for _, o := range c.Storage {
		if replaced[name(o)] {
			continue
		}
		switch x := o.(type) {
		case *v1.PersistentVolumeClaim:
			if deleted[x.UID] {
				continue
			}
		case *v1.PersistentVolume: // it is deleted, or released, which is as good as deleted
			if ref := x.Spec.ClaimRef; ref != nil && deleted[ref.UID] {
				continue
			}
		case *resourcev1.ResourceClaim:
			claim := left.free(x)
			if claim == nil {
				continue
			}
			o = claim
		case *storagev1.StorageClass:
			classes = append(classes, x)
		}
		q.config.Storage = append(q.config.Storage, o)
	}
	class := input.DefaultStorageClass(classes)
	for _, o := range r.claims() {
		if claim, ok := o.(*v1.PersistentVolumeClaim); ok && claim.Spec.StorageClassName == nil && class != "" {
			claim = claim.DeepCopy()
			claim.Spec.StorageClassName = &class
			o = claim
		}
		q.config.Storage = append(q.config.Storage, o)
	}
}

// nameOf tells claims, and their templates, apart.
type nameOf struct {
	kind reflect.Type
	types.NamespacedName
}

func name(o metav1.Object) nameOf {
	return nameOf{reflect.TypeOf(o), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

// claims returns the claims of the question, and the templates of claims.
func (r *Request) claims() []metav1.Object {
	o := input.Objects{PersistentVolumeClaims: r.PersistentVolumeClaims, ResourceClaims: r.ResourceClaims, ResourceClaimTemplates: r.ResourceClaimTemplates}
	return o.Storage()
}

// free returns a claim as it is without the pods; nil if it left with one.
func (p pods) free(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	instead, owned := p.owned(claim)
	gone := func(r resourcev1.ResourceClaimConsumerReference) bool { _, is := p[r.UID]; return is }
	switch {
	case owned && instead == "":
		return nil
	case owned:
		claim = claim.DeepCopy()
		metav1.GetControllerOfNoCopy(claim).UID = instead
		claim.Status = resourcev1.ResourceClaimStatus{}
	case slices.ContainsFunc(claim.Status.ReservedFor, gone):
		claim = claim.DeepCopy()
		if claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, gone); len(claim.Status.ReservedFor) == 0 {
			claim.Status = resourcev1.ResourceClaimStatus{}
		}
	}
	return claim
}

// become gives a pod of the question another name and UID, and returns resource claims of its own for it, if it has claims
// that come from templates.
func (q *question) become(pod *v1.Pod, name string, uid types.UID) (own []metav1.Object) {
	statuses := slices.Clone(pod.Status.ResourceClaimStatuses)
	for _, o := range q.config.Storage {
		claim, ok := o.(*resourcev1.ResourceClaim)
		if _, owned := (pods{pod.UID: uid}).owned(o); !ok || !owned {
			continue
		}
		for i, s := range statuses {
			if s.ResourceClaimName != nil && *s.ResourceClaimName == claim.Name {
				claim = pods{pod.UID: uid}.free(claim)
				claim.Name, claim.UID = fmt.Sprintf("%s-%s", name, s.Name), types.UID(fmt.Sprintf("%s-%s", uid, s.Name))
				statuses[i].ResourceClaimName = &claim.Name
				own = append(own, claim)
				break
			}
		}
	}
	pod.Name, pod.UID, pod.Status.ResourceClaimStatuses = name, uid, statuses
	return own
}
