package input

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// usable drops the objects with mistakes. If all have some, these are the mistakes of the files.
func usable(objs []object, g *gatherer) []object {
	kept := objs[:0:0]
	for _, obj := range objs {
		if len(obj.errs) > 0 {
			g.refuse(obj, obj.errs...)
			continue
		}
		kept = append(kept, obj)
	}
	if len(kept) == 0 {
		for _, obj := range objs {
			g.add(obj.errs...)
		}
	}
	return kept
}

// warnLeftOut says which objects were left out, and why.
func (o *Objects) warnLeftOut(g *gatherer) {
	if g.left == nil {
		return
	}
	for _, e := range g.left.list {
		o.Warnings = append(o.Warnings, Warning{Source{e.File, e.Line}, e.Path, e.Detail})
	}
	if n := g.left.omitted; n > 0 {
		last := g.left.list[len(g.left.list)-1]
		o.Warnings = append(o.Warnings, Warning{Source{last.File, last.Line}, "", fmt.Sprintf("%d more objects are left out after this one; with --strict, they are mistakes", n)})
	}
}

// leaveOut drops the pods that kube-scheduler ignores.
func (o *Objects) leaveOut(objs []object) []object {
	kept := objs[:0]
	var first object
	var names []string
	for _, obj := range objs {
		p, ok := obj.Object.(*v1.Pod)
		switch {
		case ok && ended(p):
			o.Ended++
		case ok && deleting(p):
			if len(names) == 0 {
				first = obj
			}
			names = append(names, podName(p))
		default:
			kept = append(kept, obj)
		}
	}
	if o.Deleting = len(names); o.Deleting > 0 {
		o.warn(first, "metadata.deletionTimestamp", "pods that are being deleted and have no node are left out: "+few(names))
	}
	return kept
}

func ended(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

// Pods that are being deleted and have no node are never scheduled. Those with a node use its
// resources until they are gone.
func deleting(p *v1.Pod) bool { return p.DeletionTimestamp != nil && p.Spec.NodeName == "" }

// podName also works for pods without defaults.
func podName(p *v1.Pod) string {
	if p.Namespace == "" {
		return metav1.NamespaceDefault + "/" + p.Name
	}
	return p.Namespace + "/" + p.Name
}

// few names the first ones and counts the others.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
