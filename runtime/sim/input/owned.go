package input

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// withoutOwned leaves out pods and controllers that another object makes, as what kubectl get all writes has them: a Deployment stands for
// its pods, so they would count again with its ReplicaSets, and as themselves.
func withoutOwned(objs []object, g *gatherer) []object {
	byUID, byName := make(map[types.UID]int), make(map[identity]int)
	for i, o := range objs {
		if _, pod := o.Object.(*v1.Pod); asks(o) && !pod {
			byUID[o.meta.UID], byName[identityOf(o)] = i, i
		}
	}
	owners := make([]int, len(objs)) // -1 for none
	for i, o := range objs {
		owners[i] = -1
		if !asks(o) {
			continue
		}
		for _, ref := range o.meta.OwnerReferences {
			if at, ok := ownerOf(o, &ref, objs, byUID, byName); ok && at != i {
				owners[i] = at
			}
		}
	}
	kept := make([]object, 0, len(objs))
	for i, o := range objs {
		top, steps := i, 0
		for owners[top] >= 0 && steps < generations { // a circle has no end
			top, steps = owners[top], steps+1
		}
		if owners[i] < 0 || owners[top] >= 0 {
			kept = append(kept, o)
		} else {
			g.leaveOut([]string{kindOf(o) + " that another object makes"})
		}
	}
	return slices.Clip(kept)
}

// generations are the most owners of owners: a CronJob has Jobs, and they have pods.
const generations = 4

// ownerOf returns the index of the object that a reference is to: that with its UID, or else, if the files have no UID
// of it, that with its kind and name.
func ownerOf(o object, ref *metav1.OwnerReference, objs []object, byUID map[types.UID]int, byName map[identity]int) (at int, ok bool) {
	if at, ok = byUID[ref.UID]; ok {
		return at, true
	}
	at, ok = byName[identity{ref.Kind, o.meta.Namespace, ref.Name}]
	if !ok {
		return 0, false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	given := !strings.HasPrefix(string(objs[at].meta.UID), madeUID)
	if err != nil || gv.Group != objs[at].GetObjectKind().GroupVersionKind().Group || ref.UID != "" && given {
		return 0, false
	}
	return at, true
}
