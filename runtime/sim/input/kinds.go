package input

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// understood returns the kinds that a simulation uses.
func understood() []schema.GroupVersionKind {
	kinds := func(gv schema.GroupVersion, names ...string) (out []schema.GroupVersionKind) {
		for _, name := range names {
			out = append(out, gv.WithKind(name))
		}
		return out
	}
	return slices.Concat(
		kinds(v1.SchemeGroupVersion, "Node", "Pod", "Namespace", "Service", "PersistentVolume", "PersistentVolumeClaim", "ReplicationController"),
		kinds(schedulingv1.SchemeGroupVersion, "PriorityClass"),
		kinds(policyv1.SchemeGroupVersion, "PodDisruptionBudget"),
		kinds(storagev1.SchemeGroupVersion, "StorageClass", "CSINode", "CSIStorageCapacity", "CSIDriver", "VolumeAttachment"),
		kinds(appsv1.SchemeGroupVersion, "ReplicaSet", "StatefulSet"),
	)
}

// kindError says why an object of this kind is not accepted; nil if it is.
func kindError(gvk schema.GroupVersionKind) *Error {
	all := understood()
	switch {
	case slices.Contains(all, gvk):
		return nil
	case gvk.Kind == "":
		return &Error{Path: "kind", Detail: "the object has no kind", Fix: "write apiVersion and kind, such as v1 and Node"}
	case gvk.Version == "":
		return &Error{Path: "apiVersion", Detail: "the object has no apiVersion", Fix: "write the apiVersion of kind " + gvk.Kind}
	}
	names := make([]string, len(all))
	for i, known := range all {
		if known.Kind == gvk.Kind {
			return &Error{
				Path: "apiVersion", Detail: gvk.Kind + " is not supported in version " + gvk.GroupVersion().String(),
				Fix: "write apiVersion: " + known.GroupVersion().String(),
			}
		}
		names[i] = known.Kind
	}
	fix := "remove it; simulations do not use it"
	switch gvk.Kind {
	case "Deployment", "DaemonSet", "Job", "CronJob":
		fix = "replace it with the pods that it creates, because no controllers run here"
	}
	return &Error{
		Path:   "kind",
		Detail: "kind " + gvk.Kind + " of " + gvk.GroupVersion().String() + " is not supported; supported are " + strings.Join(names, ", ") + " and lists of them",
		Fix:    fix,
	}
}

// listKind reports whether a kind is List, or a list of a supported kind.
func listKind(kind string) bool {
	item, ok := strings.CutSuffix(kind, "List")
	return ok && (item == "" || slices.ContainsFunc(understood(), func(known schema.GroupVersionKind) bool { return known.Kind == item }))
}

// newScheme registers the types of the supported kinds' groups.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}
