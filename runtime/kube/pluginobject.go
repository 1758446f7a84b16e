package kube

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// apiPlugin is an object of berth.dev of any kind. Its spec and status are decoded one object at a
// time: a list of the kinds themselves cannot be read at all if one object does not fit them, as when
// another version of the kinds, or an edited one, allowed more.
type apiPlugin struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              json.RawMessage `json:"spec,omitempty"`
	Status            json.RawMessage `json:"status,omitempty"`

	// object is the same of its kind, once decode was called, and the errors are why it has no spec
	// or no status.
	object             metav1.Object
	badSpec, badStatus error
}

// keptConfig is the size of the configurations of TenantPlugins that are kept, in bytes. A larger one is read again for a plugin that may
// run: anybody in a namespace can write any number that may not.
const keptConfig = 4 << 10

// apiPluginList is a list of them.
type apiPluginList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []apiPlugin `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (p *apiPlugin) DeepCopyObject() runtime.Object {
	out := *p
	p.DeepCopyInto(&out.ObjectMeta)
	out.Spec, out.Status = slices.Clone(p.Spec), slices.Clone(p.Status)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *apiPluginList) DeepCopyObject() runtime.Object {
	out := *l
	l.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*apiPlugin))
	}
	return &out
}

// readAlone registers the kinds as apiPlugin.
func readAlone(s *runtime.Scheme) error {
	gv := v1alpha1.GroupVersion()
	for _, kind := range []string{v1alpha1.KindSchedulerPlugin, v1alpha1.KindPluginGrant, v1alpha1.KindTenantPlugin} {
		s.AddKnownTypeWithName(gv.WithKind(kind), &apiPlugin{})
		s.AddKnownTypeWithName(gv.WithKind(kind+"List"), &apiPluginList{})
	}
	metav1.AddToGroupVersion(s, gv)
	return nil
}

// decode makes the object of its kind. Of a spec that cannot be read it has what says which pods wait.
func (p *apiPlugin) decode(kind string) {
	if p.object != nil {
		return
	}
	// Nobody asks for the rest, and there may be a megabyte of it, also in an object that is refused.
	meta := metav1.ObjectMeta{
		Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion, Generation: p.Generation,
		CreationTimestamp: p.CreationTimestamp, DeletionTimestamp: p.DeletionTimestamp,
	}
	p.ObjectMeta = meta
	switch kind {
	case v1alpha1.KindSchedulerPlugin:
		x := &v1alpha1.SchedulerPlugin{ObjectMeta: meta}
		if p.badSpec = section("spec", p.Spec, &x.Spec); p.badSpec != nil {
			var e essentials
			_ = utiljson.Unmarshal(p.Spec, &e) // fields that fit are read
			x.Spec = v1alpha1.SchedulerPluginSpec{Namespaces: e.Namespaces, FailurePolicy: e.FailurePolicy, Mode: e.Mode, WhenDisabled: e.WhenDisabled}
		}
		p.badStatus = section("status", p.Status, &x.Status)
		p.object = x
	case v1alpha1.KindPluginGrant:
		x := &v1alpha1.PluginGrant{ObjectMeta: meta}
		p.badSpec = section("spec", p.Spec, &x.Spec)
		p.badStatus = section("status", p.Status, &x.Status)
		p.object = x
	default:
		x := &v1alpha1.TenantPlugin{ObjectMeta: meta}
		if p.badSpec = section("spec", p.Spec, &x.Spec); p.badSpec != nil {
			var e essentials
			_ = utiljson.Unmarshal(p.Spec, &e) // fields that fit are read
			x.Spec = v1alpha1.TenantPluginSpec{FailurePolicy: e.FailurePolicy, Mode: e.Mode, WhenDisabled: e.WhenDisabled}
		}
		p.badStatus = section("status", p.Status, &x.Status)
		x.Spec.Config.Omit(keptConfig)
		p.object = x
	}
	p.Spec, p.Status = nil, nil
}

// essentials are fields that say which pods wait for a plugin that does not run.
type essentials struct {
	Namespaces    []v1alpha1.Namespace   `json:"namespaces"`
	FailurePolicy v1alpha1.FailurePolicy `json:"failurePolicy"`
	Mode          v1alpha1.Mode          `json:"mode"`
	WhenDisabled  v1alpha1.WhenDisabled  `json:"whenDisabled"`
}

// section decodes a part of an object into what is zero; it stays so after an error.
func section[T any](name string, raw json.RawMessage, into *T) error {
	if len(raw) == 0 {
		return nil
	}
	var out T
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*into = out
	return nil
}
