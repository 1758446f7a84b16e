package input

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Template is a pod of which there are to be some.
type Template struct {
	Pod   *v1.Pod
	Count int
}

// Templates are pods to be placed, and what they need.
type Templates struct {
	Pods   []Template // in input order
	Claims []*v1.PersistentVolumeClaim
	Owners []metav1.Object // services and controllers
	// ResourceClaims and ResourceClaimTemplates are those for devices.
	ResourceClaims         []*resourcev1.ResourceClaim
	ResourceClaimTemplates []*resourcev1.ResourceClaimTemplate
}

// LoadTemplates reads the pods of files and directories as LoadCluster does. A Deployment, Job,
// ReplicaSet, StatefulSet or ReplicationController stands for the pods that it creates. What a
// pod has only once it exists, such as its node, does not count. classes (optional) are
// priority classes besides those of the files.
func LoadTemplates(ctx context.Context, paths []string, classes []*schedulingv1.PriorityClass) (*Templates, error) {
	var g gatherer
	objs, err := decodeFiles(ctx, readFiles(ctx, paths, &g), ofTemplates(), &g)
	if err != nil {
		return nil, err
	}
	objs = unique(objs, &g)
	priorities := newPriorities(objs, &g)
	for _, class := range classes {
		if priorities.classes[class.Name] == nil {
			priorities.classes[class.Name] = class
		}
	}
	t := &Templates{}
	for _, o := range objs {
		switch x := o.Object.(type) {
		case *v1.Pod:
			if priorities.admit(o, x, &g) {
				t.Pods = append(t.Pods, Template{x, 1})
			}
		case *v1.PersistentVolumeClaim:
			t.Claims = append(t.Claims, x)
		case *resourcev1.ResourceClaim:
			t.ResourceClaims = append(t.ResourceClaims, x)
		case *resourcev1.ResourceClaimTemplate:
			t.ResourceClaimTemplates = append(t.ResourceClaimTemplates, x)
		case *v1.Service:
			t.Owners = append(t.Owners, x)
		case *schedulingv1.PriorityClass:
		default:
			t.workload(o, priorities, &g)
		}
	}
	if len(t.Pods) == 0 && g.err() == nil {
		g.add(&Error{File: strings.Join(paths, ", "), Detail: "it contains no pod, and nothing that creates pods", Fix: "name a file with pods, or with a Deployment, Job, ReplicaSet or StatefulSet"})
	}
	return t, g.err()
}

// LoadNodes reads the nodes of a file or directory as LoadCluster does.
func LoadNodes(ctx context.Context, path string) ([]*v1.Node, error) {
	var g gatherer
	k := &kinds{all: version(v1.SchemeGroupVersion, "Node"), others: "remove it; only nodes can be added"}
	objs, err := decodeFiles(ctx, readFiles(ctx, []string{path}, &g), k, &g)
	if err != nil {
		return nil, err
	}
	objs = unique(objs, &g)
	if len(objs) == 0 && g.err() == nil {
		g.add(&Error{File: path, Detail: "it contains no node", Fix: "name a file with nodes"})
	}
	var out []*v1.Node
	for _, o := range objs {
		out = append(out, o.Object.(*v1.Node))
	}
	return out, g.err()
}

// Prepare sets the defaults of an object that comes without a file, and checks it, as LoadCluster
// does. where names it in errors.
func Prepare(where string, gvk schema.GroupVersionKind, o runtime.Object) error {
	var g gatherer
	o.GetObjectKind().SetGroupVersionKind(gvk)
	decoded := object{Object: o, meta: metaOf(o), place: place{chunk: &chunk{file: where}}}
	ofTemplates().clean(decoded)
	g.add(prepare(decoded, nil)...)
	if pod, ok := o.(*v1.Pod); ok {
		newPriorities(nil, &g).admit(decoded, pod, &g)
	}
	return g.err()
}

// ofTemplates are the kinds of LoadTemplates.
func ofTemplates() *kinds {
	return &kinds{
		all: slices.Concat(
			version(v1.SchemeGroupVersion, "Pod"),
			version(appsv1.SchemeGroupVersion, "Deployment", "ReplicaSet", "StatefulSet"),
			version(batchv1.SchemeGroupVersion, "Job"),
			version(v1.SchemeGroupVersion, "ReplicationController", "PersistentVolumeClaim", "Service"),
			version(resourcev1.SchemeGroupVersion, "ResourceClaim", "ResourceClaimTemplate"),
			version(schedulingv1.SchemeGroupVersion, "PriorityClass"),
		),
		others: "remove it",
		instead: map[string]string{
			"DaemonSet": "replace it with a pod for each node, with node affinity to its name",
			"CronJob":   "replace it with a Job",
		},
		clean: func(o object) {
			if pod, ok := o.Object.(*v1.Pod); ok {
				o.meta.UID, o.meta.DeletionTimestamp = "", nil
				pod.Spec.NodeName, pod.Status = "", v1.PodStatus{}
			}
		},
	}
}

// workload adds the pods of something that creates pods.
func (t *Templates) workload(o object, priorities *priorities, g *gatherer) {
	var template *v1.PodTemplateSpec
	replicas := int32(1)
	var owner metav1.Object // as the pods' controller
	switch x := o.Object.(type) {
	case *appsv1.Deployment:
		template, replicas = &x.Spec.Template, *orOne(x.Spec.Replicas)
		set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: x.Namespace, Name: x.Name, UID: x.UID}}
		set.Spec.Selector, set.Spec.Replicas = x.Spec.Selector, &replicas
		set.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
		owner = set
	case *appsv1.ReplicaSet:
		template, replicas, owner = &x.Spec.Template, *x.Spec.Replicas, x
	case *appsv1.StatefulSet:
		template, replicas, owner = &x.Spec.Template, *x.Spec.Replicas, x
	case *v1.ReplicationController:
		template, replicas, owner = x.Spec.Template, *x.Spec.Replicas, x
	case *batchv1.Job:
		template, replicas = &x.Spec.Template, *orOne(x.Spec.Parallelism)
		if x.Spec.Completions != nil {
			replicas = min(replicas, *x.Spec.Completions)
		}
	}
	if template == nil {
		g.add(o.place.at(nil, "spec.template", "it is missing", "write the pods' template"))
		return
	}
	if replicas < 1 {
		g.add(o.place.at(nil, "spec.replicas", fmt.Sprintf("%d pods cannot be placed", replicas), "write at least 1"))
		return
	}
	pod := &v1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.GenerateName = o.meta.Namespace, o.meta.Name, ""
	pod.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("Pod"))
	if owner != nil {
		t.Owners = append(t.Owners, owner)
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.(runtime.Object).GetObjectKind().GroupVersionKind())}
	}
	of := object{Object: pod, meta: &pod.ObjectMeta, place: o.place}
	of.place.steps = append(slices.Clone(o.place.steps), "spec", "template")
	var inner gatherer
	inner.add(prepare(of, nil)...)
	priorities.admit(of, pod, &inner)
	for _, e := range inner.list {
		e.Path = "spec.template." + e.Path
		g.add(e)
	}
	if set, ok := owner.(*appsv1.StatefulSet); ok && len(set.Spec.VolumeClaimTemplates) > 0 {
		t.stateful(set, pod)
		return
	}
	t.Pods = append(t.Pods, Template{pod, int(replicas)})
}

// stateful adds the pods of a StatefulSet, each with claims of its own.
func (t *Templates) stateful(set *appsv1.StatefulSet, pod *v1.Pod) {
	for i := range *set.Spec.Replicas {
		replica := pod.DeepCopy()
		replica.Name = fmt.Sprintf("%s-%d", set.Name, i)
		replica.UID = ""
		for _, template := range set.Spec.VolumeClaimTemplates {
			claim := template.DeepCopy()
			claim.Namespace, claim.Name = set.Namespace, template.Name+"-"+replica.Name
			t.Claims = append(t.Claims, claim)
			source := v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}
			replica.Spec.Volumes = append(slices.DeleteFunc(replica.Spec.Volumes, func(v v1.Volume) bool { return v.Name == template.Name }),
				v1.Volume{Name: template.Name, VolumeSource: source})
		}
		t.Pods = append(t.Pods, Template{replica, 1})
	}
}
