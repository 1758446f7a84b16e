package input

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// Source is where an object comes from.
type Source struct {
	File string
	Line int // 1-based
}

// String returns FILE:LINE.
func (s Source) String() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// Warning is about input that is accepted but may be a mistake.
type Warning struct {
	Source
	Path, Detail string
}

// String returns FILE:LINE: PATH: DETAIL, without an empty PATH.
func (w Warning) String() string {
	if w.Path == "" {
		return w.Source.String() + ": " + w.Detail
	}
	return w.Source.String() + ": " + w.Path + ": " + w.Detail
}

// Objects are the objects of cluster files, defaulted and checked, in input order.
type Objects struct {
	Nodes []*v1.Node
	Pods  []*v1.Pod // those that have not terminated and can be scheduled
	Related
	PriorityClasses []*schedulingv1.PriorityClass // the two built-in classes only if they are in a file
	// Known are those that decide what becomes of new pods at the API server, and on added nodes.
	Known Known
	// Of the kinds of berth.dev, only form and names are checked here; package tenancy does the
	// rest.
	SchedulerPlugins []*v1alpha1.SchedulerPlugin
	PluginGrants     []*v1alpha1.PluginGrant
	TenantPlugins    []*v1alpha1.TenantPlugin

	// Ended counts the pods of phase Succeeded or Failed. They are left out, as in
	// kube-scheduler's informer.
	Ended int
	// Deleting counts the pods that are being deleted and have no node. They are left out,
	// because kube-scheduler never schedules them.
	Deleting int
	// Warnings are those about all files, then those about single objects in input order.
	Warnings []Warning
	// LeftOut counts the objects that decide nothing about pods, such as "2 ConfigMaps, 1 Secret".
	LeftOut string

	kinds   map[string]int // of LeftOut
	sources map[metav1.Object]Source
}

// Source returns where an object of these Objects comes from; ok is false for others.
func (o *Objects) Source(obj metav1.Object) (s Source, ok bool) {
	s, ok = o.sources[obj]
	return s, ok
}

// LoadCluster reads the objects of files and directories. A directory means the *.yaml, *.yml
// and *.json files below it in lexical order. A file contains YAML documents or JSON values; a
// v1 List or a typed list, such as NodeList, means its items. Hidden files and folders in a
// directory are skipped.
//
// Objects get the defaults of an API server and its admission as far as they affect scheduling: see
// prepare. Unknown fields, which newer clusters have, are warnings, and so are objects that cannot
// be used, which are left out. With strict, these are mistakes, except for unknown fields under
// status.
//
// # Errors
//
// All mistakes are in one *Errors; files without any object that can be used are a mistake. Soon
// after the context has ended, the error is its cause.
func LoadCluster(ctx context.Context, paths []string, strict bool) (*Objects, error) {
	if len(paths) == 0 {
		return nil, errors.New("no files are named (name Kubernetes YAML or JSON files, or folders of them)")
	}
	g := gatherer{lenient: !strict}
	if !strict {
		g.left = &gatherer{}
	}
	files := readFiles(ctx, paths, &g)
	objs, err := decodeFiles(ctx, files, ofClusters(), &g)
	if err != nil {
		return nil, err
	}
	objs = g.withoutPatches(objs, false)
	g.settle(!strict && len(objs) > 0)
	if len(objs) == 0 && len(g.kinds) == 0 && g.err() == nil {
		g.add(nothing(paths))
	}
	o := assemble(objs, &g)
	if err := g.err(); err != nil {
		return nil, err
	}
	return o, nil
}

// nothing is the error for files without an object.
func nothing(paths []string) *Error {
	e := &Error{
		File: paths[0], Detail: "it contains no Kubernetes object",
		Fix: "name files with nodes and pods, such as what kubectl get nodes,pods -A -o yaml writes",
	}
	if len(paths) > 1 {
		e.Detail += ", and neither do the others"
	}
	return e
}

// assemble does what needs all objects: duplicates, priorities, default classes.
func assemble(objs []object, g *gatherer) *Objects {
	o := &Objects{sources: make(map[metav1.Object]Source, len(objs)), LeftOut: g.leftOut(), kinds: g.kinds}
	objs = o.leaveOut(usable(objs, g))
	o.Warnings = ignored(o.Warnings, objs)
	objs = unique(objs, g)
	objs, made := expand(objs, g)
	o.Known = *made.known
	classes := newPriorities(objs, g)
	var storage []*storagev1.StorageClass
	nodes := map[string]bool{}
	for _, obj := range objs {
		switch x := obj.Object.(type) {
		case *v1.Node:
			nodes[x.Name] = true
		case *storagev1.StorageClass:
			storage = append(storage, x)
		}
	}
	class := DefaultStorageClass(storage)
	uids := make(map[types.UID]bool, len(objs))
	for _, obj := range objs {
		switch x := obj.Object.(type) {
		case *v1.Pod:
			if !o.admit(obj, x, made, classes, nodes, g) {
				continue
			}
			if uids[x.UID] { // of a copy
				x.UID = ""
				defaultMeta(obj.meta, kindOf(obj), true)
			}
			uids[x.UID] = true
		case *v1.PersistentVolumeClaim:
			if x.Spec.StorageClassName == nil && class != "" {
				x.Spec.StorageClassName = &class
			}
		}
		o.keep(obj)
	}
	o.warnLeftOut(g)
	if len(objs) > 0 && len(o.Nodes)+len(o.Pods)+o.Ended+o.Deleting == 0 {
		o.warn(objs[0], "", "the files contain neither a node nor a pod, so there is nothing to simulate")
	}
	return o
}

// admit sets the pod's priority and warns if its node does not exist.
// It reports whether the pod can be used.
func (o *Objects) admit(obj object, p *v1.Pod, made *expansion, classes *priorities, nodes map[string]bool, g *gatherer) bool {
	unknown, ok := made.admit(obj, p, g)
	if unknown != "" {
		o.warn(obj, "", unknown)
	}
	if !ok || !classes.admit(obj, p, g) || !made.allows(obj, p, g) {
		return false
	}
	if c := classes.differs(p); c != "" {
		o.warn(obj, "spec.priority", c)
	}
	if name := p.Spec.NodeName; name != "" && !nodes[name] {
		o.warn(obj, "spec.nodeName", fmt.Sprintf("there is no node %q; the pod uses resources of a node that does not exist", name))
	}
	return true
}

// warn looks up the line of the field only for the first warnings, because that parses the text
// again. Later ones have the line of the object.
func (o *Objects) warn(obj object, path, detail string) {
	line := obj.place.first
	if len(o.Warnings) < MaxErrors {
		line = obj.place.lineOf(nil, path)
	}
	o.Warnings = append(o.Warnings, obj.place.warning(line, path, detail))
}

// identity is what two objects must not have in common.
type identity struct{ kind, namespace, name string }

func identityOf(o object) identity { return identity{kindOf(o), o.meta.Namespace, o.meta.Name} }

// unique refuses a second object of the same kind, namespace and name, and returns the others.
func unique(objs []object, g *gatherer) []object {
	kept := objs[:0:0]
	first := make(map[identity]int, len(objs))
	for i, obj := range objs {
		k := identityOf(obj)
		j, twice := first[k]
		if !twice {
			first[k] = i
			kept = append(kept, objs[i])
			continue
		}
		name := strings.TrimPrefix(k.namespace+"/"+k.name, "/")
		was := Source{objs[j].place.chunk.file, objs[j].place.first}
		g.refuse(obj, &Error{
			File: obj.place.chunk.file, Line: obj.place.first, Path: "metadata.name",
			Detail: fmt.Sprintf("%s %s is already at %s", strings.ToLower(k.kind), name, was), Fix: "rename or remove one of them",
		})
	}
	return kept
}

func kindOf(o object) string { return o.GetObjectKind().GroupVersionKind().Kind }

// keep appends the object to its slice.
func (o *Objects) keep(obj object) {
	o.sources[obj.Object.(metav1.Object)] = Source{obj.place.chunk.file, obj.place.first}
	switch x := obj.Object.(type) {
	case *v1.Node:
		o.Nodes = append(o.Nodes, x)
	case *v1.Pod:
		o.Pods = append(o.Pods, x)
	case *schedulingv1.PriorityClass:
		o.PriorityClasses = append(o.PriorityClasses, x)
	case *v1alpha1.SchedulerPlugin:
		o.SchedulerPlugins = append(o.SchedulerPlugins, x)
	case *v1alpha1.PluginGrant:
		o.PluginGrants = append(o.PluginGrants, x)
	case *v1alpha1.TenantPlugin:
		o.TenantPlugins = append(o.TenantPlugins, x)
	default:
		o.Add(x)
	}
}

// metaOf returns the metadata of an object of a supported kind.
func metaOf(obj runtime.Object) *metav1.ObjectMeta {
	meta, ok := obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		panic("BUG: a supported kind has no ObjectMeta")
	}
	return meta
}
