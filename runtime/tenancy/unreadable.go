package tenancy

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// unreadable returns why an object cannot be read; nil if it can.
func (o *Objects) unreadable(uid types.UID) error { return cmp.Or(o.BadSpec[uid], o.BadStatus[uid]) }

// unreadable is an object that cannot be read, and what is known of it.
type unreadable struct {
	kind       string
	object     metav1.Object
	name       string // of the plugin
	namespaces []v1alpha1.Namespace
	policy     v1alpha1.FailurePolicy
	mode       v1alpha1.Mode
	when       v1alpha1.WhenDisabled
}

// plugin is the state of the object. It is unknown which of its versions decide, so all of its pods
// wait.
func (x *unreadable) plugin(err error, c *Config) Plugin {
	p := x.object
	out := Plugin{
		Kind: x.kind, Namespace: p.GetNamespace(), Object: p.GetName(), UID: p.GetUID(), Generation: p.GetGeneration(), Name: x.name,
		Holds:   x.policy != v1alpha1.Ignore && x.mode != v1alpha1.ModeShadow,
		Refusal: refuse(Invalid, "the object does not fit its kind, as this version of Berth knows it: %v", err),
	}
	for _, ns := range x.namespaces {
		out.Namespaces = append(out.Namespaces, string(ns))
	}
	slices.Sort(out.Namespaces)
	out.unlessDisabled(x.name, x.mode, x.when, false, c)
	return out
}
