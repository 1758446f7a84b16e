package module

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// FailurePolicies are the failure policies of a plugin's points. Their JSON is that of recordings.
type FailurePolicies v1alpha1.FailurePolicies

// For returns the policy of a point: the configured one, or the default.
func (p FailurePolicies) For(point abi.Point) v1alpha1.FailurePolicy {
	return v1alpha1.FailurePolicies(p).For(point)
}

// Use is how a plugin takes part, apart from its order and weight.
type Use struct {
	// Mode is Shadow or Disabled; empty means Enforce.
	Mode v1alpha1.Mode
	// Replaces is the plugin of the profile whose place one in Shadow takes; empty if it runs
	// beside all others.
	Replaces string
}

// useOf returns a use with one value of each meaning.
func useOf(mode v1alpha1.Mode, replaces string) Use {
	if mode == v1alpha1.ModeEnforce {
		mode = ""
	}
	return Use{mode, replaces}
}

// NewReference returns what Load takes. name is the plugin's name in the profile, and spec is valid.
//
// # Errors
//
// The configuration is too large or nests too deeply.
func NewReference(name string, m *v1alpha1.FileModule, spec *v1alpha1.PluginSpec) (Reference, error) {
	r := Reference{
		Path: m.Path, URL: m.URL, Image: string(m.Image), Digest: string(m.Digest), Name: name,
		FailurePolicy: FailurePolicies(spec.FailurePolicy), Grants: spec.Grants.Manifest(), Limits: limitsOf(spec.Limits),
		Use: useOf(spec.Mode, spec.Replaces),
	}
	for _, namespace := range spec.Namespaces {
		r.Namespaces = append(r.Namespaces, string(namespace))
	}
	slices.Sort(r.Namespaces)
	var err error
	r.Config, err = Configuration(spec.Config)
	return r, err
}

// Configuration returns a configuration as modules get it: in canonical JSON, {} for none.
func Configuration(c *v1alpha1.Config) ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	value, err := schema.Parse(c.Raw)
	if err != nil {
		return nil, err
	}
	return schema.Canonical(value)
}

// Args returns the args of a loaded module in the form of a configuration file, with its configuration and grants, however
// the module was named. What may be secret in a module's URL is hidden: user, password, and the query, which can be a signature.
func (r *Reference) Args(l *Loaded) *v1alpha1.WasmPluginArgs {
	a := &v1alpha1.WasmPluginArgs{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.KindWasmPluginArgs},
		Module: v1alpha1.FileModule{Path: r.Path, ModuleSource: v1alpha1.ModuleSource{
			URL: plain.URL(r.URL), Image: v1alpha1.Image(r.Image), Digest: v1alpha1.Digest(r.Digest),
		}},
		PluginSpec: v1alpha1.PluginSpec{
			FailurePolicy: v1alpha1.FailurePolicies(r.FailurePolicy), Limits: writtenLimits(&r.Limits), Mode: r.Use.Mode, Replaces: r.Use.Replaces,
		},
	}
	for _, namespace := range r.Namespaces {
		a.Namespaces = append(a.Namespaces, v1alpha1.Namespace(namespace))
	}
	if len(l.Config) > 0 && string(l.Config) != "{}" {
		a.Config = &v1alpha1.Config{RawExtension: runtime.RawExtension{Raw: l.Config}}
	}
	if !l.Grants.Empty() {
		a.Grants = v1alpha1.DirectivesOf(&l.Grants)
	}
	return a
}
