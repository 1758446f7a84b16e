package input

import (
	"slices"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// spare is a document that no API server would take: an object in a version that is not served any more, a patch, or values
// for a template. Folders of manifests contain such files; those who apply them get an error for each, and the other objects.
type spare struct {
	what string // as it is counted if it is left out
	err  *Error // if it is not
}

// spared has the last mistake count only if there is nothing else.
func (r *result) spared(what string) {
	r.spare = append(r.spare, spare{what, r.last()})
	r.errs = r.errs[:len(r.errs)-1]
}

// settle leaves out what no API server would take, if there is something else.
func (g *gatherer) settle(others bool) {
	for _, s := range g.spare {
		if others {
			g.leaveOut([]string{s.what})
		} else {
			g.add(s.err)
		}
	}
	g.spare = nil
}

// withoutPatches sets workloads aside that are only patches, as kustomize has them: those without containers or a selector beside
// a whole one of the same name, and, if they are to make pods, all without containers.
func (g *gatherer) withoutPatches(objs []object, making bool) []object {
	whole := make(map[identity]bool)
	for _, o := range objs {
		if missing, _ := missingOf(o); missing == "" {
			whole[identityOf(o)] = true
		}
	}
	return slices.DeleteFunc(objs, func(o object) bool {
		missing, err := missingOf(o)
		lone := making && missing == "containers"
		if missing == "" || !lone && !whole[identityOf(o)] {
			return false
		}
		g.spare = append(g.spare, spare{kindOf(o) + " without " + missing, err})
		return true
	})
}

// missingOf returns what a workload lacks without which no API server takes it; nothing for other objects.
func missingOf(o object) (what string, err *Error) {
	m, ok := makes(o)
	if x, daemons := o.Object.(*appsv1.DaemonSet); daemons {
		m, ok = of(x, &x.Spec.Template, 1, x.Spec.Selector), true
	}
	switch {
	case !ok || m.Pod == nil:
		return "", nil
	case len(m.Pod.Spec.Containers) == 0:
		return "containers", o.place.at(nil, m.path+".spec.containers", "a pod needs a container", "write one, such as - name: main")
	case m.selector == nil && o.GetObjectKind().GroupVersionKind().Group == appsv1.GroupName:
		return "selector", o.place.at(nil, "spec.selector", "a workload needs a selector", "write one that matches the labels of its pods")
	}
	return "", nil
}

// former reports whether API servers served workloads, budgets and classes in this version once, and do not any more. Versions of
// resource.k8s.io are not among them: their objects say what devices there are, so an answer without them would be wrong.
func former(gv schema.GroupVersion) bool {
	switch gv.String() {
	case "extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "batch/v1beta1", "batch/v2alpha1", "policy/v1beta1",
		"scheduling.k8s.io/v1alpha1", "scheduling.k8s.io/v1beta1", "node.k8s.io/v1alpha1", "node.k8s.io/v1beta1",
		"storage.k8s.io/v1alpha1", "storage.k8s.io/v1beta1", "admissionregistration.k8s.io/v1beta1":
		return true
	}
	return false
}

// jsonPatch reports whether a document is a list of operations (RFC 6902).
func jsonPatch(n *yaml.Node) bool {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return false
	}
	for _, item := range n.Content {
		if item.Kind != yaml.MappingNode || scalarAt(item, "op") == "" || scalarAt(item, "path") == "" {
			return false
		}
	}
	return true
}
