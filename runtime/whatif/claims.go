package whatif

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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

// storage takes the cluster's storage objects without what left with pods, and adds those of the question. Of two of one name
// that counts which the cluster would have once the question's was applied.
//
// The claim of an ephemeral volume is deleted with its pod, and the simulation creates another one with the next pod. A resource
// claim from a template goes to the next pod, without devices: its template may not be known. Others are free once nobody
// uses them.
func (q *question) storage(c *Cluster, r *Request, left pods) {
	replaced, deleted := make(map[nameOf]bool), make(map[types.UID]bool)
	for _, o := range r.Storage() {
		replaced[name(o)] = !immutable(o)
	}
	for _, o := range c.Storage {
		if claim, ok := o.(*v1.PersistentVolumeClaim); ok {
			_, deleted[claim.UID] = left.owned(claim)
		}
	}
	has := make(map[nameOf]bool)
	var classes []*storagev1.StorageClass
	add := func(o metav1.Object) {
		if class, ok := o.(*storagev1.StorageClass); ok {
			classes = append(classes, class)
		}
		has[name(o)] = true
		q.config.Storage = append(q.config.Storage, o)
	}
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
			o = classAfter(x, r.StorageClasses)
		}
		add(o)
	}
	for _, o := range r.Storage() {
		if !has[name(o)] {
			add(o)
		}
	}
	class := input.DefaultStorageClass(classes)
	for i, o := range q.config.Storage { // the claims of the cluster too: the controller of volumes sets it in those that wait
		if claim, ok := o.(*v1.PersistentVolumeClaim); ok && claim.Spec.StorageClassName == nil && claim.Spec.VolumeName == "" && class != "" {
			claim = claim.DeepCopy()
			claim.Spec.StorageClassName = &class
			q.config.Storage[i] = claim
		}
	}
}

// classAfter returns the cluster's class with what those of the question change: the annotations, such as the one that makes it the
// default, and the topologies. The API server refuses one that changes anything else.
func classAfter(class *storagev1.StorageClass, asked []*storagev1.StorageClass) *storagev1.StorageClass {
	for _, a := range asked {
		same := equality.Semantic.DeepEqual
		if a.Name != class.Name || a.Provisioner != class.Provisioner || !same(a.Parameters, class.Parameters) ||
			!same(a.ReclaimPolicy, class.ReclaimPolicy) || !same(a.VolumeBindingMode, class.VolumeBindingMode) {
			continue
		}
		class = class.DeepCopy()
		if class.Annotations == nil {
			class.Annotations = make(map[string]string)
		}
		maps.Copy(class.Annotations, a.Annotations)
		if len(a.AllowedTopologies) > 0 {
			class.AllowedTopologies = a.AllowedTopologies
		}
	}
	return class
}

// immutable reports whether an object stays when another one of its name is applied: the API server refuses changes of its
// spec, and its status, volume or devices stay. Of a class, classAfter has what changes.
func immutable(o metav1.Object) bool {
	switch o.(type) {
	case *v1.PersistentVolumeClaim, *v1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSINode, *storagev1.VolumeAttachment,
		*resourcev1.ResourceClaim, *resourcev1.ResourceClaimTemplate:
		return true
	}
	return false
}

// namespaces returns the cluster's namespaces with those of a question. Labels of both count.
func namespaces(have, asked []*v1.Namespace) []*v1.Namespace {
	out := slices.Clone(have)
	for _, n := range asked {
		i := slices.IndexFunc(out, func(o *v1.Namespace) bool { return o.Name == n.Name })
		if i < 0 {
			out = append(out, n)
			continue
		}
		both := out[i].DeepCopy()
		if both.Labels == nil {
			both.Labels = make(map[string]string)
		}
		maps.Copy(both.Labels, n.Labels)
		out[i] = both
	}
	return out
}

// applied returns the cluster's objects with those of a question, which replace others of their name.
func applied[T metav1.Object](have, asked []T) []T {
	replaced := make(map[nameOf]bool)
	for _, o := range asked {
		replaced[name(o)] = true
	}
	return append(slices.DeleteFunc(slices.Clone(have), func(o T) bool { return replaced[name(o)] }), asked...)
}

// nameOf tells objects apart.
type nameOf struct {
	kind reflect.Type
	types.NamespacedName
}

func name(o metav1.Object) nameOf {
	return nameOf{reflect.TypeOf(o), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
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
