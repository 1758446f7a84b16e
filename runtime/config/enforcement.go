package config

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// enforcement is the name in pluginConfig, and in messages, of the check that a plugin enforces
// each feature of a pod. It is no plugin: it cannot be enabled or disabled.
const enforcement = "FeatureEnforcement"

// enforcementArgs are its args.
type enforcementArgs struct {
	// AllowUnenforced are features of pods that the profile leaves to others.
	AllowUnenforced []string `json:"allowUnenforced"`
}

// allowUnenforced returns the features that a profile leaves to others.
func allowUnenforced(r *report, cat Catalog, path *field.Path, in []configv1.PluginConfig) []string {
	for i, c := range in {
		if c.Name != enforcement {
			continue
		}
		at := path.Index(i).Child("args")
		var args enforcementArgs
		if _, ok := decodeArgs(r, at, c.Args.Raw, &args); !ok {
			return nil
		}
		for j, name := range args.AllowUnenforced {
			if !slices.Contains(cat.Features, name) {
				r.add(at.Child("allowUnenforced").Index(j), fmt.Sprintf("%s is not a feature", quote(name)), "features are "+strings.Join(cat.Features, ", "))
			}
		}
		return args.AllowUnenforced
	}
	return nil
}
