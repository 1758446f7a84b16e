package config

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// argsKind says how the arguments of one plugin are read. The kind for plugin X in
// kube-scheduler's API is always XArgs.
type argsKind struct {
	kind string
	// decode returns a pointer to the typed arguments with defaults, or nil after reporting
	// mistakes. raw is empty if the file has no args.
	decode func(r *report, path *field.Path, raw []byte) runtime.Object
}

// argsKinds returns the built-in plugins that take arguments. To add a plugin, add a row with
// its type, defaults and rules.
func argsKinds(cat Catalog) map[string]argsKind {
	return map[string]argsKind{
		"NodeResourcesFit":                kindOfArgs("NodeResourcesFitArgs", defaultFit, checkFit),
		"NodeResourcesBalancedAllocation": kindOfArgs("NodeResourcesBalancedAllocationArgs", defaultBalanced, checkBalanced),
		"NodeAffinity":                    kindOfArgs("NodeAffinityArgs", nil, checkAffinity),
		"DefaultPreemption":               kindOfArgs("DefaultPreemptionArgs", defaultPreemption, checkPreemption),
		"VolumeBinding":                   kindOfArgs("VolumeBindingArgs", defaultVolumes(cat), checkVolumes(cat)),
		"DynamicResources":                kindOfArgs("DynamicResourcesArgs", defaultDevices, checkDevices),
		"PodTopologySpread":               kindOfArgs("PodTopologySpreadArgs", defaultSpread, checkSpread),
		"InterPodAffinity":                kindOfArgs("InterPodAffinityArgs", defaultPodAffinity, checkPodAffinity),
	}
}

func kindOfArgs[T any, P interface {
	*T
	runtime.Object
}](kind string, defaults func(*T), check func(*report, *field.Path, *T)) argsKind {
	return argsKind{kind: kind, decode: func(r *report, path *field.Path, raw []byte) runtime.Object {
		into := new(T)
		before := len(r.errs)
		if len(raw) > 0 {
			tree, ok := decodeArgs(r, path, raw, into)
			checkArgsHeader(r, path, tree, kind)
			if !ok {
				return nil
			}
		}
		if defaults != nil {
			defaults(into)
		}
		check(r, path, into)
		if len(r.errs) > before {
			return nil
		}
		out := P(into)
		out.GetObjectKind().SetGroupVersionKind(configv1.SchemeGroupVersion.WithKind(kind))
		return out
	}}
}

// checkArgsHeader checks apiVersion and kind, both of which are optional.
func checkArgsHeader(r *report, path *field.Path, tree map[string]any, kind string) {
	version := configv1.SchemeGroupVersion.String()
	if v, ok := tree["apiVersion"].(string); ok && v != "" && v != version {
		r.add(path.Child("apiVersion"), fmt.Sprintf("expected %q, found %q", version, v), versionFix(v))
	}
	if k, ok := tree["kind"].(string); ok && k != "" && k != kind {
		r.add(path.Child("kind"), fmt.Sprintf("expected %q, found %q", kind, k), "leave it out, or give this plugin's own args")
	}
}

// buildArgs checks pluginConfig and returns the args of every enabled plugin that takes args.
// Args of plugins that are not enabled are checked and dropped, as kube-scheduler does.
func buildArgs(
	r *report, cat Catalog, path *field.Path, in []configv1.PluginConfig, modules map[string]Args, points map[string][]PluginRef,
) map[string]Args {
	kinds := argsKinds(cat)
	given := maps.Clone(modules)
	seen := map[string]int{}
	for i, c := range in {
		at := path.Index(i)
		if c.Name != enforcement && !checkName(r, cat, at.Child("name"), c.Name) {
			continue
		}
		if first, ok := seen[c.Name]; ok {
			r.add(at.Child("name"), fmt.Sprintf("plugin %q has args in pluginConfig[%d] already", c.Name, first), "merge the two entries")
			continue
		}
		seen[c.Name] = i
		if c.Name == enforcement { // allowUnenforced reads it
			continue
		}
		if cat.upstreamOnly(c.Name) {
			r.noteArgs(c.Name, at.Child("name"))
			continue
		}
		if _, ok := modules[c.Name]; ok {
			continue
		}
		if a, ok := readArgs(r, kinds, at.Child("args"), c, cat.late(c.Name)); ok {
			given[c.Name] = a
		}
	}

	out := map[string]Args{}
	for _, name := range enabledPlugins(points) {
		if a, ok := given[name]; ok {
			out[name] = a
		} else if k, ok := kinds[name]; ok {
			out[name] = Args{Typed: k.decode(r, path, nil)}
		}
	}
	for name, a := range modules {
		if _, enabled := out[name]; !enabled && a.Spec != nil {
			r.warn(field.NewPath(a.Path), "the plugin "+quote(name)+" is enabled at no point of this profile, so its module is not loaded; "+
				"enable it, as under multiPoint")
		}
	}
	return out
}

// readArgs decodes the args of one built-in plugin; ok is false if there are none.
func readArgs(r *report, kinds map[string]argsKind, path *field.Path, c configv1.PluginConfig, late bool) (a Args, ok bool) {
	if len(c.Args.Raw) == 0 || string(c.Args.Raw) == "null" {
		return Args{}, false
	}
	if late {
		return r.argsAt(c.Args.Raw, path), true
	}
	kind, takes := kinds[c.Name]
	if !takes {
		r.add(path, "plugin "+quote(c.Name)+" takes no args", "remove them")
		return Args{}, false
	}
	a = r.argsAt(c.Args.Raw, path)
	a.Typed = kind.decode(r, path, c.Args.Raw)
	return a, true
}

// argsAt returns the args in the file at path, not yet decoded.
func (r *report) argsAt(raw []byte, path *field.Path) Args {
	at := text(path)
	return Args{Raw: raw, Path: at, Position: position(r.file, r.lines.of(at), at)}
}

// enabledPlugins returns the plugins of all points, each once, sorted.
func enabledPlugins(points map[string][]PluginRef) []string {
	set := map[string]bool{}
	for _, refs := range points {
		for _, ref := range refs {
			set[ref.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// DecodeArgs strictly decodes a.Raw into a struct with JSON tags, for plugins without a type
// for their args in this package. Unknown fields and values of the wrong type are errors with
// their paths; there are no defaults. Empty args leave into unchanged.
func DecodeArgs[T any](a Args, into *T) error {
	if len(a.Raw) == 0 {
		return nil
	}
	r := newReport("", nil)
	var base *field.Path
	if a.Path != "" {
		base = field.NewPath(a.Path)
	}
	fresh := new(T)
	*fresh = *into
	if decodeArgs(r, base, a.Raw, fresh); len(r.errs) > 0 {
		return r.err()
	}
	*into = *fresh
	return nil
}
