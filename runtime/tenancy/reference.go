package tenancy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/market/oci"
	"github.com/berth-scheduler/berth/runtime/market/policy"
	"github.com/berth-scheduler/berth/runtime/module"
)

// Bounds of the kinds' schemas, for objects that no API server has checked.
const (
	maxName   = 63
	maxWeight = 1000
)

// maxConfig is the maximum size of a configuration, in bytes. An object has up to four of them: its own,
// and in its status those of the stable version, of the canary and of the old version. All fit into what
// the API server can store, with kubectl's annotation.
const maxConfig = 256 << 10

// reference reads what objects have in common, without the configuration: Plugin.configure decodes it.
func reference(name, object string, weight int32, m v1alpha1.ModuleSource, spec *v1alpha1.PluginSpec) (module.Reference, error) {
	if len(object) > maxName {
		return module.Reference{}, fmt.Errorf("metadata.name: a plugin's name has at most %d characters", maxName)
	}
	if weight < 0 || weight > maxWeight {
		return module.Reference{}, fmt.Errorf("spec.weight: %d is not from 1 to %d", weight, maxWeight)
	}
	if size := spec.Config.Size(); size > maxConfig {
		return module.Reference{}, fmt.Errorf("spec.config: %d bytes, at most %d are allowed: "+
			"status keeps the configurations of earlier versions, too", size, maxConfig)
	}
	path, source := field.NewPath("spec"), v1alpha1.FileModule{ModuleSource: m}
	if errs := append(source.Validate(path.Child("module")), spec.Validate(path)...); len(errs) > 0 {
		var all []error
		for _, err := range errs {
			all = append(all, err)
		}
		return module.Reference{}, oneLine(errors.Join(all...))
	}
	if image := string(m.Image); image != "" {
		if at, err := oci.ParseReference(image); err != nil || at.Registry == "" {
			return module.Reference{}, fmt.Errorf("spec.module.image: %q is not an image in a registry: write REGISTRY/REPOSITORY:TAG", image)
		}
	}
	bare := *spec
	bare.Config = nil
	ref, err := module.NewReference(name, &source, &bare)
	ref.Weight = weight
	return ref, err
}

// decides is a mode as files have it: each version of a Canary decides, for its pods.
func decides(mode v1alpha1.Mode) v1alpha1.Mode {
	if mode == v1alpha1.ModeCanary {
		return v1alpha1.ModeEnforce
	}
	return mode
}

// oneLine joins the lines of an error.
func oneLine(err error) error { return errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// platformReference returns the reference of a SchedulerPlugin.
func platformReference(p *v1alpha1.SchedulerPlugin) (module.Reference, error) {
	ref, err := reference(p.Name, p.Name, p.Spec.Weight, p.Spec.Module, &v1alpha1.PluginSpec{
		Config: p.Spec.Config, Namespaces: p.Spec.Namespaces, FailurePolicy: v1alpha1.FailurePolicies{All: p.Spec.FailurePolicy},
		Grants: p.Spec.Grants, Limits: p.Spec.Limits, Mode: decides(p.Spec.Mode), Replaces: p.Spec.Replaces,
	})
	if err != nil {
		return ref, err
	}
	for i, point := range p.Spec.Points {
		if !slices.Contains(platformPoints(), string(point)) {
			return ref, fmt.Errorf("spec.points[%d]: %q is not an extension point of a profile", i, point)
		}
		ref.Points = append(ref.Points, string(point))
	}
	if v := p.Spec.Verification; v != nil {
		if ref.Policy, err = trusted(v.Keys, v.Least, v.Publisher); err != nil {
			return ref, fmt.Errorf("spec.verification: %w", oneLine(err))
		}
	}
	return ref, nil
}

// tenantReference returns the reference of a TenantPlugin, without its limits.
func tenantReference(p *v1alpha1.TenantPlugin) (module.Reference, error) {
	source := v1alpha1.ModuleSource{Image: p.Spec.Module.Image, Digest: p.Spec.Module.Digest}
	ref, err := reference(tenantName(p), p.Name, p.Spec.Weight, source, &v1alpha1.PluginSpec{
		Config: p.Spec.Config, Namespaces: []v1alpha1.Namespace{v1alpha1.Namespace(p.Namespace)},
		FailurePolicy: v1alpha1.FailurePolicies{All: p.Spec.FailurePolicy}, Mode: decides(p.Spec.Mode), Replaces: p.Spec.Replaces,
	})
	ref.Tenant = p.Namespace
	if ref.Use.Replaces != "" {
		ref.Use.Replaces = p.Namespace + "/" + ref.Use.Replaces
	}
	ref.GrantAll = true // so that the module can be read; candidate.effects refuses one that asks for effects
	return ref, err
}

// tenantName is the plugin's name in profiles. No plugin of another source has a slash in its
// name.
func tenantName(p *v1alpha1.TenantPlugin) string { return p.Namespace + "/" + p.Name }

// trusted is a policy of some keys, and of a publisher if it is not empty.
func trusted(keys []v1alpha1.Key, least int32, publisher string) (*policy.Policy, error) {
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	p := v1alpha1.VerificationPolicy{Keys: keys}
	p.Require.AllOf = []v1alpha1.Requirement{{Signatures: &v1alpha1.Signatures{Keys: names, Least: int(least)}}}
	if publisher != "" {
		p.Publishers = []v1alpha1.TrustedPublisher{{Name: publisher, Keys: names}}
		p.Require.AllOf = append(p.Require.AllOf, v1alpha1.Requirement{Publisher: publisher})
	}
	return policy.New(&p)
}
