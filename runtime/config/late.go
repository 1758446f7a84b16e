package config

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// Settle removes plugins of Catalog.Late from points that they do not implement, and then makes
// the checks that had to wait for this. points returns the points that such a plugin
// implements, and false for other plugins.
//
// # Errors
//
// The profile lists such a plugin at a point that it does not implement, has no bind plugin, or
// does not have exactly one queueSort plugin.
func (p *Profile) Settle(points func(plugin string) ([]string, bool)) error {
	r := newReport("", nil)
	path := field.NewPath("plugins")
	for _, set := range pointSets(&configv1.Plugins{}) {
		var left []PluginRef
		for _, ref := range p.Points[set.point] {
			implemented, late := points(ref.Name)
			switch {
			case !late:
			case slices.Contains(implemented, set.point):
				ref.Late = false
			case ref.Late:
				continue
			default:
				r.add(path.Child(set.point), fmt.Sprintf("plugin %s does not implement %s", quote(ref.Name), set.point), "it implements: "+list(implemented))
			}
			left = append(left, ref)
		}
		if p.Points[set.point] = left; len(left) == 0 {
			delete(p.Points, set.point)
		}
	}
	if len(r.errs) == 0 {
		checkPoints(r, path, p.Points)
	}
	return r.err()
}

// unsettled reports whether a plugin is at a point that it may not implement.
func unsettled(refs []PluginRef) bool {
	return slices.ContainsFunc(refs, func(ref PluginRef) bool { return ref.Late })
}
