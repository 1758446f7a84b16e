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

// modulePlugins reads the pluginConfig entries of plugins that are modules. It returns the catalog of
// this profile, which includes these plugins, and their args by name.
func modulePlugins(r *report, cat Catalog, path *field.Path, in []configv1.PluginConfig) (Catalog, map[string]Args) {
	modules := map[string]Args{}
	compiledIn := cat
	for i, c := range in {
		at := path.Index(i).Child("args")
		if !isModule(c.Args.Raw) {
			continue
		}
		if _, twice := modules[c.Name]; twice || c.Name == "" {
			continue // buildArgs reports both mistakes
		}
		if compiledIn.late(c.Name) {
			r.add(path.Index(i).Child("name"), fmt.Sprintf("%s is the name of a plugin that is compiled in, not of a module", quote(c.Name)),
				"give the module another name")
			continue
		}
		if cat.built(c.Name) || cat.upstreamOnly(c.Name) {
			r.add(path.Index(i).Child("name"), fmt.Sprintf("%s is the name of a plugin of kube-scheduler, not of a module", quote(c.Name)),
				"give the module another name")
			continue
		}
		args := r.argsAt(c.Args.Raw, at)
		before := len(r.errs)
		spec := new(v1alpha1.WasmPluginArgs)
		if _, ok := decodeArgs(r, at, c.Args.Raw, spec); ok {
			r.addAll(spec.Validate(at).ToAggregate())
		}
		if len(r.errs) == before {
			args.Spec = spec
		}
		modules[c.Name] = args
		cat.Late = append(slices.Clip(cat.Late), c.Name)
	}
	return cat, modules
}

// isModule reports whether args are meant for a plugin that is a module. Either their kind or their API
// group is enough, so that a mistake in the other is reported as such.
func isModule(raw []byte) bool {
	var header struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	return json.Unmarshal(raw, &header) == nil &&
		(header.Kind == v1alpha1.KindWasmPluginArgs || strings.HasPrefix(header.APIVersion, v1alpha1.GroupVersion().Group+"/"))
}
