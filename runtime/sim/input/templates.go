package input

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Templates are pods to be placed, and what they need.
type Templates struct {
	Pods       []Template          // in input order
	DaemonSets []*appsv1.DaemonSet // of which each node gets a pod
	// Asked is the number of objects that ask for pods, with controllers of no replicas.
	Asked int
	Related
	// Known are objects of the files that decide what becomes of the pods at the API server.
	Known Known
	// Idle are the controllers of no pods, with the reason, such as "Job default/j is suspended".
	Idle []string
	// LeftOut counts the objects that make no pods, such as "2 ConfigMaps, 1 Secret", and those that others make.
	LeftOut string
	// Warnings are about unknown fields.
	Warnings []Warning
}

// LoadTemplates reads the pods of files and directories as LoadCluster does. A Deployment, Job, CronJob, ReplicaSet, StatefulSet
// or ReplicationController stands for the pods that it creates. What a pod has only once it exists, such as its status and the
// node of one that comes from an API server, does not count. Kinds that make no pods are left out, and so is what another object of
// the files makes.
//
// With known, which may be nil, pods are checked as the API server's admission would. They are not changed: that
// happens where the question is answered.
//
// Unlike there, an object that cannot be used is always a mistake.
func LoadTemplates(ctx context.Context, paths []string, known *Known, strict bool) (*Templates, error) {
	g := gatherer{lenient: !strict}
	objs, err := decodeFiles(ctx, readFiles(ctx, paths, &g), ofTemplates(), &g)
	if err != nil {
		return nil, err
	}
	objs = withoutOwned(unique(latest(g.withoutPatches(objs, true)), &g), &g)
	newPriorities(objs, &g)
	t := &Templates{Warnings: ignored(nil, objs)}
	for _, o := range objs {
		if _, asked := o.Object.(*appsv1.DaemonSet); !asked {
			t.Known.Add(o.Object)
		}
	}
	if known != nil {
		known = known.With(&t.Known)
	}
	for _, o := range objs {
		t.keep(o, known, &g)
	}
	g.settle(len(t.Pods)+len(t.DaemonSets) > 0)
	if len(objs) == 0 && len(g.kinds) == 0 && g.err() == nil {
		g.add(nothing(paths))
	}
	t.LeftOut = g.leftOut()
	return t, g.err()
}

// latest drops objects that make no pods and come again with the same name, as several manifests have their namespace: the last
// one counts, as it would at the API server.
func latest(objs []object) (kept []object) {
	last := make(map[identity]int, len(objs))
	for i, o := range objs {
		last[identityOf(o)] = i
	}
	for i, o := range objs {
		if asks(o) || last[identityOf(o)] == i {
			kept = append(kept, o)
		}
	}
	return kept
}

// asks reports whether an object asks for pods.
func asks(o object) bool {
	switch o.Object.(type) {
	case *v1.Pod, *appsv1.DaemonSet:
		return true
	}
	_, ok := makes(o)
	return ok
}

// keep adds an object of the files.
func (t *Templates) keep(o object, known *Known, g *gatherer) {
	switch x := o.Object.(type) {
	case *v1.Pod:
		t.Asked++
		check(o, x, "", known, g)
		t.Pods = append(t.Pods, Template{Pod: x, Count: 1})
	case *appsv1.DaemonSet:
		t.Asked++
		m := of(x, &x.Spec.Template, 1, x.Spec.Selector)
		g.add(m.prepare(o)...)
		check(o, m.Pod, m.path+".", known, g)
		t.DaemonSets = append(t.DaemonSets, x)
	default:
		if m, ok := makes(o); ok {
			t.Asked++
			t.made(o, &m, known, g)
		} else {
			t.Add(x)
		}
	}
}

// check has admission look at a copy of a pod.
func check(o object, pod *v1.Pod, prefix string, known *Known, g *gatherer) {
	if known == nil {
		return
	}
	if _, bad := known.Admit(pod.DeepCopy()); bad != nil {
		g.add(o.place.at(nil, prefix+bad.Path, bad.Detail, bad.Fix))
	}
}

// made adds the pods of a controller.
func (t *Templates) made(o object, m *made, known *Known, g *gatherer) {
	if errs := m.prepare(o); len(errs) > 0 {
		g.add(errs...)
		return
	}
	check(o, m.Pod, m.path+".", known, g)
	t.Add(m.owner.(runtime.Object))
	switch {
	case m.Count == 0:
		t.Idle = append(t.Idle, m.idle(o))
	case len(m.claims) > 0:
		pods, claims := m.all(0)
		t.PersistentVolumeClaims = append(t.PersistentVolumeClaims, claims...)
		for _, pod := range pods {
			t.Pods = append(t.Pods, Template{Pod: pod, Count: 1})
		}
	default:
		t.Pods = append(t.Pods, m.Template)
	}
}

// Add adds an object, if it is of a kind of Known.
func (k *Known) Add(o runtime.Object) {
	switch x := o.(type) {
	case *schedulingv1.PriorityClass:
		k.PriorityClasses = append(k.PriorityClasses, x)
	case *nodev1.RuntimeClass:
		k.RuntimeClasses = append(k.RuntimeClasses, x)
	case *v1.LimitRange:
		k.LimitRanges = append(k.LimitRanges, x)
	case *v1.ResourceQuota:
		k.ResourceQuotas = append(k.ResourceQuotas, x)
	case *appsv1.DaemonSet:
		k.DaemonSets = append(k.DaemonSets, x)
	default:
		if name := webhookOf(o); name != "" {
			k.Webhooks = append(k.Webhooks, name)
		}
	}
}

// LoadNodes reads the nodes of a file or directory as LoadTemplates does. Warnings are about unknown fields.
func LoadNodes(ctx context.Context, path string, strict bool) (nodes []*v1.Node, warnings []Warning, err error) {
	g := gatherer{lenient: !strict}
	k := &kinds{all: version(v1.SchemeGroupVersion, "Node"), others: "remove it; only nodes can be added", strict: true}
	objs, err := decodeFiles(ctx, readFiles(ctx, []string{path}, &g), k, &g)
	if err != nil {
		return nil, nil, err
	}
	objs = unique(objs, &g)
	if len(objs) == 0 && g.err() == nil {
		g.add(&Error{File: path, Detail: "it contains no node", Fix: "name a file with nodes"})
	}
	for _, o := range objs {
		nodes = append(nodes, o.Object.(*v1.Node))
	}
	return nodes, ignored(nil, objs), g.err()
}

// Prepare sets the defaults of an object that comes without a file, and checks it, as LoadCluster
// does. where names it in errors.
func Prepare(where string, gvk schema.GroupVersionKind, o runtime.Object) error {
	var g gatherer
	o.GetObjectKind().SetGroupVersionKind(gvk)
	decoded := object{Object: o, meta: metaOf(o), place: place{chunk: &chunk{file: where}}}
	ofTemplates().clean(decoded)
	if pod, ok := o.(*v1.Pod); ok && pod.Name == "" && pod.GenerateName != "" {
		g.add(prepareTemplate(decoded, pod, "")...)
		return g.err()
	}
	g.add(prepare(decoded, nil)...)
	return g.err()
}

// ofTemplates are the kinds of LoadTemplates.
func ofTemplates() *kinds {
	return &kinds{
		all: slices.Concat(
			version(v1.SchemeGroupVersion, "Pod"),
			version(appsv1.SchemeGroupVersion, "Deployment", "DaemonSet"),
			version(batchv1.SchemeGroupVersion, "Job", "CronJob"),
			ofRelated(), ofAdmission(),
		),
		others: "remove it",
		clean: func(o object) {
			if pod, ok := o.Object.(*v1.Pod); ok {
				ran := pod.Status.Phase != "" && pod.Status.Phase != v1.PodPending
				if ran || o.meta.ResourceVersion != "" || !o.meta.CreationTimestamp.IsZero() {
					pod.Spec.NodeName = "" // a scheduler's choice
				}
				o.meta.UID, o.meta.DeletionTimestamp, pod.Status = "", nil, v1.PodStatus{}
			}
		},
	}
}
