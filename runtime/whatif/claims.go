package whatif

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

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
	asked, deleted := make(map[nameOf]metav1.Object), make(map[types.UID]bool)
	for _, o := range r.Storage() {
		asked[name(o)] = o
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
		applied := asked[name(o)]
		if applied != nil && !immutable(o) {
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
		}
		if applied != nil {
			o = q.apply(o, applied, c.Recorded)
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

// apply returns the cluster's object as it is once that of the question was applied. The API server refuses one that changes
// anything of a spec that cannot change.
func (q *question) apply(have, asked metav1.Object, recorded bool) metav1.Object {
	if differ := differences(have, asked, recorded); differ != "" {
		n := name(have)
		q.notApplied = append(q.notApplied, fmt.Sprintf("%s %s (%s)", n.kind.Elem().Name(), strings.TrimPrefix(n.String(), "/"), differ))
		return have
	}
	if class, ok := have.(*storagev1.StorageClass); ok {
		return classAfter(class, asked.(*storagev1.StorageClass))
	}
	return have
}

// differences names the fields that cannot change and that an object of the question has otherwise than the cluster's; "" for none.
// Recordings have no parameters of classes, and not all of other specs.
func differences(have, asked metav1.Object, recorded bool) string {
	same := true
	derived := equality.Semantic.DeepDerivative
	switch h := have.(type) {
	case *storagev1.StorageClass:
		return classDifferences(h, asked.(*storagev1.StorageClass), recorded)
	case *v1.PersistentVolumeClaim:
		same = derived(asked.(*v1.PersistentVolumeClaim).Spec, h.Spec)
	case *v1.PersistentVolume:
		same = recorded || derived(asked.(*v1.PersistentVolume).Spec, h.Spec)
	case *storagev1.CSINode:
		same = derived(asked.(*storagev1.CSINode).Spec, h.Spec)
	case *storagev1.VolumeAttachment:
		same = recorded || derived(asked.(*storagev1.VolumeAttachment).Spec, h.Spec)
	case *resourcev1.ResourceClaim:
		same = recorded || derived(asked.(*resourcev1.ResourceClaim).Spec, h.Spec)
	case *resourcev1.ResourceClaimTemplate:
		same = derived(asked.(*resourcev1.ResourceClaimTemplate).Spec, h.Spec)
	}
	if same {
		return ""
	}
	return "spec"
}

func classDifferences(have, asked *storagev1.StorageClass, recorded bool) string {
	same := equality.Semantic.DeepEqual
	var fields []string
	if asked.Provisioner != have.Provisioner {
		fields = append(fields, "provisioner")
	}
	if !recorded && !same(asked.Parameters, have.Parameters) {
		fields = append(fields, "parameters")
	}
	if !same(asked.ReclaimPolicy, have.ReclaimPolicy) {
		fields = append(fields, "reclaimPolicy")
	}
	if !same(asked.VolumeBindingMode, have.VolumeBindingMode) {
		fields = append(fields, "volumeBindingMode")
	}
	return strings.Join(fields, ", ")
}

// classAfter returns the cluster's class with what may change: the annotations, such as the one that makes it the default, and the
// topologies.
func classAfter(class, asked *storagev1.StorageClass) *storagev1.StorageClass {
	class = class.DeepCopy()
	if class.Annotations == nil {
		class.Annotations = make(map[string]string)
	}
	maps.Copy(class.Annotations, asked.Annotations)
	if len(asked.AllowedTopologies) > 0 {
		class.AllowedTopologies = asked.AllowedTopologies
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
