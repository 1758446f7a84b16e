package input

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berth-scheduler/berth/internal/nearest"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// kinds are the kinds of objects that files may contain.
type kinds struct {
	all []schema.GroupVersionKind
	// others says what to do about any other kind that is not accepted.
	others string
	// strict refuses other kinds. Without it, those that make no pods are left out.
	strict bool
	// clean (optional) removes what does not count, before defaults are set.
	clean func(o object)
}

// version lists kinds of one version.
func version(gv schema.GroupVersion, names ...string) (out []schema.GroupVersionKind) {
	for _, name := range names {
		out = append(out, gv.WithKind(name))
	}
	return out
}

// ofClusters are the kinds that a simulation uses.
func ofClusters() *kinds {
	k := &kinds{others: "remove it; simulations do not use it"}
	k.all = slices.Concat(
		version(v1.SchemeGroupVersion, "Node", "Pod"), ofRelated(), ofAdmission(),
		version(appsv1.SchemeGroupVersion, "Deployment", "DaemonSet"),
		version(batchv1.SchemeGroupVersion, "Job", "CronJob"),
		version(v1alpha1.GroupVersion(), v1alpha1.KindSchedulerPlugin, v1alpha1.KindPluginGrant, v1alpha1.KindTenantPlugin),
	)
	return k
}

// ofAdmission are the kinds of Known that files may have in every place.
func ofAdmission() []schema.GroupVersionKind {
	return slices.Concat(
		version(schedulingv1.SchemeGroupVersion, KindPriorityClass), version(nodev1.SchemeGroupVersion, KindRuntimeClass),
		version(v1.SchemeGroupVersion, KindLimitRange, KindResourceQuota),
		version(admissionv1.SchemeGroupVersion, KindWebhooks, "ValidatingWebhookConfiguration"),
	)
}

// leaves reports whether objects of a kind are left out: other projects' kinds, and those of Kubernetes that decide nothing about
// pods. A kind in a version that is not accepted, or of another group of Kubernetes, or that looks misspelt, is not left out.
func (d *decoder) leaves(gvk schema.GroupVersionKind) bool {
	k := d.kinds
	if k.strict || gvk.Kind == "" || gvk.Version == "" || slices.Contains(k.all, gvk) {
		return false
	}
	var beside []string
	wrong := d.scheme.IsGroupRegistered(gvk.Group) && !d.scheme.Recognizes(gvk) || gvk.Group == "extensions"
	for _, known := range k.all {
		if known.Kind == gvk.Kind && (known.Group == gvk.Group || wrong) {
			return false
		}
		if known.Group == gvk.Group {
			beside = append(beside, known.Kind)
		}
	}
	_, near := nearest.Of(gvk.Kind, beside)
	return !near || d.scheme.Recognizes(gvk)
}

// refuse says why an object of this kind is not accepted; nil if it is.
func (k *kinds) refuse(gvk schema.GroupVersionKind) *Error {
	switch {
	case slices.Contains(k.all, gvk):
		return nil
	case gvk.Kind == "":
		return &Error{Path: "kind", Detail: "the object has no kind", Fix: "write apiVersion and kind, such as v1 and " + k.all[0].Kind}
	case gvk.Version == "":
		return &Error{Path: "apiVersion", Detail: "the object has no apiVersion", Fix: "write the apiVersion of kind " + gvk.Kind}
	}
	names, beside := make([]string, len(k.all)), []string(nil)
	for i, known := range k.all {
		if known.Kind == gvk.Kind {
			return &Error{
				Path: "apiVersion", Detail: gvk.Kind + " is not supported in version " + gvk.GroupVersion().String(),
				Fix: "write apiVersion: " + known.GroupVersion().String(),
			}
		}
		names[i] = known.Kind
		if known.GroupVersion() == gvk.GroupVersion() {
			beside = append(beside, known.Kind)
		}
	}
	fix := k.others
	if near, ok := nearest.Of(gvk.Kind, beside); ok {
		fix = "did you mean " + near + "?"
	}
	return &Error{
		Path:   "kind",
		Detail: gvk.Kind + " of " + gvk.GroupVersion().String() + " is not supported; supported are " + strings.Join(names, ", ") + " and lists of them",
		Fix:    fix,
	}
}

// knows reports whether a kind is accepted in some version.
func (k *kinds) knows(kind string) bool {
	return slices.ContainsFunc(k.all, func(known schema.GroupVersionKind) bool { return known.Kind == kind })
}

// list reports whether a kind is List, or a list of a supported kind.
func (k *kinds) list(kind string) bool {
	item, ok := strings.CutSuffix(kind, "List")
	return ok && (item == "" || slices.ContainsFunc(k.all, func(known schema.GroupVersionKind) bool { return known.Kind == item }))
}

// newScheme registers the types of the supported kinds' groups.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, policyv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme, resourcev1.AddToScheme, nodev1.AddToScheme, admissionv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}
