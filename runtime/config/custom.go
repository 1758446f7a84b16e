package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// customPlugins reads the pluginConfig entries that define plugins. It returns the catalog of
// this profile, which includes these plugins, and their args by name.
func customPlugins(r *report, cat Catalog, path *field.Path, in []configv1.PluginConfig) (Catalog, map[string]Args) {
	custom := map[string]Args{}
	if cat.Custom == nil {
		return cat, custom
	}
	brought := map[string][]string{}
	for i, c := range in {
		at := path.Index(i).Child("args")
		if !isCustom(c.Args.Raw) {
			continue
		}
		if _, twice := custom[c.Name]; twice || c.Name == "" {
			continue // buildArgs reports both mistakes
		}
		if cat.late(c.Name) {
			r.add(path.Index(i).Child("name"), fmt.Sprintf("%s is the name of a plugin that is compiled in, not of a module", quote(c.Name)),
				"give the module another name")
			continue
		}
		if cat.built(c.Name) || cat.upstreamOnly(c.Name) {
			r.add(path.Index(i).Child("name"), fmt.Sprintf("%s is the name of a plugin of kube-scheduler, not of a module", quote(c.Name)),
				"give the module another name")
			continue
		}
		args, points := r.argsAt(c.Args.Raw, at), []string(nil)
		before := len(r.errs)
		spec := new(v1alpha1.WasmPluginArgs)
		if _, ok := decodeArgs(r, at, c.Args.Raw, spec); ok {
			r.addAll(spec.Validate(at).ToAggregate())
		}
		if len(r.errs) == before {
			var err error
			if points, args.Typed, err = cat.Custom(c.Name, spec); err != nil {
				r.add(at, err.Error(), "")
			}
		}
		if len(r.errs) > before {
			for _, p := range pointSets(&configv1.Plugins{}) { // the plugin's points are unknown: report nothing else about it
				points = append(points, p.point)
			}
		}
		custom[c.Name], brought[c.Name] = args, points
	}
	if len(custom) == 0 {
		return cat, custom
	}
	builtIn := cat.Points
	cat.Known = slices.Clone(cat.Known)
	for name := range custom {
		cat.Known = append(cat.Known, name)
	}
	cat.Points = func(name string) []string {
		if points, ok := brought[name]; ok {
			return points
		}
		return builtIn(name)
	}
	return cat, custom
}

// isCustom reports whether args are meant to define a plugin. Either their kind or their API
// group is enough, so that a mistake in the other is reported as such.
func isCustom(raw []byte) bool {
	var header struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	return json.Unmarshal(raw, &header) == nil &&
		(header.Kind == v1alpha1.KindWasmPluginArgs || strings.HasPrefix(header.APIVersion, v1alpha1.GroupVersion().Group+"/"))
}
