package config

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// allPlugins, under disabled, stands for every plugin.
const allPlugins = "*"

// entry is an enabled plugin with its weight; 0 stands for the default, 1.
type entry struct {
	name   string
	weight int32
	// path is where the file lists it; nil for the default list
	path *field.Path
}

// selection is what the file says about one extension point of a profile.
type selection struct {
	point    string
	path     *field.Path
	enabled  []entry
	disabled []string
}

func (s selection) enables(name string) bool {
	return slices.ContainsFunc(s.enabled, func(e entry) bool { return e.name == name })
}

func (s selection) disables(name string) bool { return slices.Contains(s.disabled, name) }

// readSelection keeps the valid entries of a set and reports the others. A plugin that is not
// implemented stays in, because it still replaces its default entry; resolve removes it.
func readSelection(r *report, cat Catalog, path *field.Path, p pointSet) selection {
	s := selection{point: p.point, path: path.Child(p.point)}
	for i, plugin := range p.set.Enabled {
		at := s.path.Child("enabled").Index(i)
		name := at.Child("name")
		switch {
		case plugin.Name == allPlugins:
			r.add(name, `"*" means all plugins only under disabled`, "list the plugins by name")
			continue
		case !checkName(r, cat, name, plugin.Name):
			continue
		case s.enables(plugin.Name):
			r.add(name, "plugin "+quote(plugin.Name)+" is listed twice", "keep one of the entries")
			continue
		}
		switch {
		case cat.upstreamOnly(plugin.Name):
			r.noteEnabled(plugin.Name, name)
		case p.point == pointPodGroups:
			r.warn(name, "there are no pod groups yet: the plugin is left out here, and pods of a scheduling group stay pending")
			continue
		case p.point != pointMultiPoint && !cat.implements(plugin.Name, p.point):
			r.add(name, "plugin "+quote(plugin.Name)+" does not implement "+p.point, "it implements: "+cat.pointsOf(plugin.Name))
			continue
		}
		e := entry{name: plugin.Name, path: at}
		if plugin.Weight != nil {
			e.weight = *plugin.Weight
		}
		if e.weight < 0 {
			r.add(at.Child("weight"), fmt.Sprintf("the weight is %d", e.weight), "give a positive weight, or disable the plugin")
		}
		s.enabled = append(s.enabled, e)
	}
	for i, plugin := range p.set.Disabled {
		name := s.path.Child("disabled").Index(i).Child("name")
		if plugin.Name != allPlugins {
			if !checkName(r, cat, name, plugin.Name) {
				continue
			}
			if cat.upstreamOnly(plugin.Name) {
				r.noteDisabled(plugin.Name, name)
			}
		}
		s.disabled = append(s.disabled, plugin.Name)
	}
	return s
}

// checkName reports a missing or unknown name.
func checkName(r *report, cat Catalog, path *field.Path, name string) bool {
	switch {
	case name == "":
		r.add(path, "the plugin name is missing", "add name, or remove the entry")
	case cat.built(name) || cat.upstreamOnly(name):
		return true
	default:
		r.add(path, "unknown plugin "+quote(name), cat.unknownFix(name))
	}
	return false
}

// mergeMultiPoint merges the file's multiPoint set into the default list. An entry with the
// name of a default replaces it in place; others follow. Disabling removes only default entries
// (kube-scheduler's mergePluginSet).
func mergeMultiPoint(defaults []PluginWeight, file selection) []entry {
	var merged []entry
	replaced := map[string]bool{}
	for _, d := range defaults {
		if file.disables(allPlugins) || file.disables(d.Name) {
			continue
		}
		e := entry{name: d.Name, weight: d.Weight}
		if i := slices.IndexFunc(file.enabled, func(e entry) bool { return e.name == d.Name }); i >= 0 {
			e = file.enabled[i]
			replaced[d.Name] = true
		}
		merged = append(merged, e)
	}
	for _, e := range file.enabled {
		if !replaced[e.name] {
			merged = append(merged, e)
		}
	}
	return merged
}

// resolve returns the built-in plugins of one extension point in execution order: first those
// listed both here and under multiPoint, with the order and weights of the list here; then the
// rest of multiPoint; then the rest of the list here. A plugin that is disabled here does not
// come from multiPoint (kube-scheduler's expandMultiPointPlugins).
func resolve(cat Catalog, multiPoint []entry, here selection) []entry {
	var first, second, third []entry
	expands := func(name string) bool { return !here.disables(allPlugins) && !here.disables(name) }
	for _, e := range here.enabled {
		both := slices.ContainsFunc(multiPoint, func(m entry) bool { return m.name == e.name })
		switch {
		case !cat.built(e.name):
		case both && expands(e.name):
			first = append(first, e)
		default:
			third = append(third, e)
		}
	}
	for _, m := range multiPoint {
		if !here.enables(m.name) && expands(m.name) && cat.built(m.name) && cat.implements(m.name, here.point) {
			second = append(second, m)
		}
	}
	return slices.Concat(first, second, third)
}

// refs converts entries to the result. Only scores have weights; 0 means 1. kube-scheduler
// checks that the weighted sum fits an int64. That always holds here: a weight is below 2^31
// and a score at most 100.
func refs(cat Catalog, entries []entry, here selection) []PluginRef {
	var out []PluginRef
	for _, e := range entries {
		ref := PluginRef{Name: e.name, Late: cat.late(e.name) && !here.enables(e.name)}
		if here.point == pointScore {
			ref.Weight = max(e.weight, 1)
		}
		out = append(out, ref)
	}
	return out
}

// pluginsOf is never nil, so that a profile without plugins is not a special case.
func pluginsOf(p configv1.KubeSchedulerProfile) *configv1.Plugins {
	if p.Plugins == nil {
		return &configv1.Plugins{}
	}
	return p.Plugins
}
