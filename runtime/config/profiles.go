package config

import (
	"bytes"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// buildProfiles resolves every profile and checks the rules that span profiles. A file without
// profiles means one profile with defaults only.
func buildProfiles(r *report, cat Catalog, in []configv1.KubeSchedulerProfile) []Profile {
	if len(in) == 0 {
		in = []configv1.KubeSchedulerProfile{{}}
	}
	root := field.NewPath("profiles")
	var out []Profile
	names := map[string]int{}
	for i, p := range in {
		path := root.Index(i)
		name := schedulerName(r, path, p, len(in))
		if first, ok := names[name]; ok && name != "" {
			r.add(path.Child("schedulerName"), fmt.Sprintf("%q is already the name of profiles[%d]", name, first),
				"give every profile its own name")
		} else {
			names[name] = i
		}
		out = append(out, buildProfile(r, cat, path, p, name))
	}
	checkOneQueue(r, root, out)
	return out
}

// schedulerName sets the default name only if there is a single profile, as kube-scheduler
// does.
func schedulerName(r *report, path *field.Path, p configv1.KubeSchedulerProfile, profiles int) string {
	switch {
	case p.SchedulerName != nil && *p.SchedulerName != "":
		return *p.SchedulerName
	case p.SchedulerName == nil && profiles == 1:
		return corev1.DefaultSchedulerName
	}
	r.add(path.Child("schedulerName"), "the scheduler name is missing",
		"give the name that pods have in spec.schedulerName")
	return ""
}

func buildProfile(r *report, cat Catalog, path *field.Path, in configv1.KubeSchedulerProfile, name string) Profile {
	before := len(r.errs)
	out := Profile{
		SchedulerName:            name,
		PercentageOfNodesToScore: in.PercentageOfNodesToScore,
		Points:                   map[string][]PluginRef{},
		source:                   &source{file: r.file, lines: r.lines, path: path, listed: map[listing]*field.Path{}},
	}
	checkPercentage(r, path.Child("percentageOfNodesToScore"), in.PercentageOfNodesToScore)

	cat, modules := modulePlugins(r, cat, path.Child("pluginConfig"), in.PluginConfig)
	plugins := path.Child("plugins")
	file := pluginsOf(in)
	multi := readSelection(r, cat, plugins, pointSet{pointMultiPoint, &file.MultiPoint})
	multiPoint := mergeMultiPoint(cat.Default, multi)
	for _, e := range multiPoint {
		if e.path == nil {
			noteDefault(r, cat, e.name)
		}
	}
	for _, p := range pointSets(file) {
		here := readSelection(r, cat, plugins, p)
		for _, e := range here.enabled {
			out.source.listed[listing{p.point, e.name}] = e.path
		}
		if enabled := refs(cat, resolve(cat, multiPoint, here), here); len(enabled) > 0 {
			out.Points[p.point] = enabled
		}
	}
	out.AllowUnenforced = allowUnenforced(r, cat, path.Child("pluginConfig"), in.PluginConfig)
	valid := len(r.errs) == before && len(r.broken) == 0
	out.Args = buildArgs(r, cat, path.Child("pluginConfig"), in.PluginConfig, modules, out.Points)
	if valid { // otherwise a plugin may seem missing because its entry is invalid
		checkPoints(r, path.Child("plugins"), out.Points, true)
	}
	return out
}

// noteDefault records a default plugin that stays enabled and is not implemented.
func noteDefault(r *report, cat Catalog, name string) {
	switch {
	case cat.upstreamOnly(name):
		r.noteEnabled(name, nil)
	case cat.built(name):
	default:
		r.add(nil, "the default list names the unknown plugin "+quote(name), "")
	}
}

// checkPoints checks the points that need a plugin. Where a profile is not whole, it may lack one.
func checkPoints(r *report, path *field.Path, points map[string][]PluginRef, whole bool) {
	switch sort := points[pointQueueSort]; {
	case len(sort) == 1, unsettled(sort), len(sort) == 0 && !whole:
	case len(sort) == 0:
		r.add(path.Child(pointQueueSort), "no queueSort plugin is left", "enable one")
	default:
		var names []string
		for _, s := range sort {
			names = append(names, s.Name)
		}
		r.add(path.Child(pointQueueSort), fmt.Sprintf("%d queueSort plugins are enabled (%s), one is needed", len(sort), list(names)),
			"remove the others from enabled; if they come from multiPoint, as the default one does, add them to disabled here")
	}
	if whole && len(points[pointBind]) == 0 {
		r.add(path.Child(pointBind), "no bind plugin is left", "enable one, as DefaultBinder")
	}
}

// checkOneQueue requires the queueSort plugin of the first profile, with the same args, in all
// profiles, because they share one queue.
func checkOneQueue(r *report, root *field.Path, profiles []Profile) {
	first, ok := queueSort(profiles[0])
	for i := 1; ok && i < len(profiles); i++ {
		name, ok := queueSort(profiles[i])
		path := root.Index(i)
		if !ok {
			continue
		}
		if name != first {
			r.add(path.Child("plugins", pointQueueSort), fmt.Sprintf("the queueSort plugin is %s, but %s in profiles[0]", name, first),
				"all profiles share one queue: enable the same plugin in each")
			continue
		}
		if a, b := profiles[0].Args[first], profiles[i].Args[name]; !sameArgs(a, b) {
			at := b.Path
			if at == "" {
				at = text(path.Child("pluginConfig"))
			}
			r.addAt(at, fmt.Sprintf("the args of the queueSort plugin %s differ from those in profiles[0]", name),
				"all profiles share one queue: give the same args in each")
		}
	}
}

func queueSort(p Profile) (name string, ok bool) {
	if refs := p.Points[pointQueueSort]; len(refs) == 1 {
		return refs[0].Name, true
	}
	return "", false
}

func sameArgs(a, b Args) bool {
	if a.Spec != nil && b.Spec != nil {
		return reflect.DeepEqual(a.Spec, b.Spec)
	}
	if a.Typed != nil && b.Typed != nil {
		return reflect.DeepEqual(a.Typed, b.Typed)
	}
	return bytes.Equal(a.Raw, b.Raw)
}

func checkPercentage(r *report, path *field.Path, percentage *int32) {
	if percentage != nil && (*percentage < 0 || *percentage > 100) {
		r.add(path, fmt.Sprintf("%d is not a percentage", *percentage),
			"give 1 to 100, 0 for kube-scheduler's adaptive formula, or leave it out for all nodes")
	}
}
