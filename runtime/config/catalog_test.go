package config_test

import (
	"github.com/berth-scheduler/berth/runtime/config"
)

// testCatalog resembles Berth's own at an early stage: the common plugins are built in, those
// for volumes and others are not. FirstComeSort and Spare are made up, to have a second
// queueSort plugin and a plugin with many points.
func testCatalog() config.Catalog {
	points := map[string][]string{
		"SchedulingGates":                 {"preEnqueue"},
		"PrioritySort":                    {"queueSort"},
		"NodeUnschedulable":               {"filter"},
		"NodeName":                        {"filter"},
		"TaintToleration":                 {"filter", "preScore", "score"},
		"NodeAffinity":                    {"preFilter", "filter", "preScore", "score"},
		"NodePorts":                       {"preFilter", "filter"},
		"NodeResourcesFit":                {"preFilter", "filter", "preScore", "score"},
		"NodeResourcesBalancedAllocation": {"preScore", "score"},
		"ImageLocality":                   {"score"},
		"DefaultBinder":                   {"bind"},
		"FirstComeSort":                   {"queueSort"},
		"Spare":                           {"filter", "score", "reserve", "permit", "preBind", "bind", "postBind"},
	}
	cat := config.Catalog{
		Upstream: []string{"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread",
			"InterPodAffinity", "DynamicResources", "DefaultPreemption", "NodeDeclaredFeatures", "GangScheduling"},
		Default: []config.PluginWeight{
			{Name: "SchedulingGates"}, {Name: "PrioritySort"}, {Name: "NodeUnschedulable"}, {Name: "NodeName"},
			{Name: "TaintToleration", Weight: 3}, {Name: "NodeAffinity", Weight: 2}, {Name: "NodePorts"},
			{Name: "NodeResourcesFit", Weight: 1}, {Name: "VolumeRestrictions"}, {Name: "NodeVolumeLimits"},
			{Name: "VolumeBinding"}, {Name: "VolumeZone"}, {Name: "PodTopologySpread", Weight: 2},
			{Name: "InterPodAffinity", Weight: 2}, {Name: "DynamicResources", Weight: 2}, {Name: "DefaultPreemption"},
			{Name: "NodeResourcesBalancedAllocation", Weight: 1}, {Name: "ImageLocality", Weight: 1},
			{Name: "DefaultBinder"}, {Name: "NodeDeclaredFeatures"},
		},
		Points:   func(plugin string) []string { return points[plugin] },
		Features: []string{"requests", "volume-claims"},
	}
	for name := range points {
		cat.Known = append(cat.Known, name)
	}
	return cat
}

// built returns a catalog with one more built-in plugin.
func built(cat config.Catalog, name string, points ...string) config.Catalog {
	others := cat.Points
	cat.Known = append(cat.Known, name)
	cat.Points = func(plugin string) []string {
		if plugin == name {
			return points
		}
		return others(plugin)
	}
	return cat
}

// smallCatalog has two plugins that score and little else, which keeps cases about order and
// weight short.
func smallCatalog() config.Catalog {
	points := map[string][]string{
		"Sort":  {"queueSort"},
		"A":     {"filter", "score"},
		"B":     {"filter", "score"},
		"C":     {"filter", "score"},
		"D":     {"filter"},
		"Bind":  {"bind"},
		"Bind2": {"bind", "filter"},
	}
	return config.Catalog{
		Known:    []string{"Sort", "A", "B", "C", "D", "Bind", "Bind2"},
		Upstream: []string{"Later"},
		Default: []config.PluginWeight{{Name: "Sort"}, {Name: "A", Weight: 5}, {Name: "B", Weight: 6},
			{Name: "Later", Weight: 7}, {Name: "Bind"}},
		Points: func(plugin string) []string { return points[plugin] },
	}
}

// volumesCatalog is the test catalog with VolumeBinding.
func volumesCatalog() config.Catalog {
	cat := testCatalog()
	cat.Known = append(cat.Known, "VolumeBinding")
	others := cat.Points
	cat.Points = func(plugin string) []string {
		if plugin == "VolumeBinding" {
			return []string{"preFilter", "filter", "preScore", "score", "reserve", "preBind"}
		}
		return others(plugin)
	}
	return cat
}

// podsCatalog has the two plugins about pods on nodes, and little else.
func podsCatalog() config.Catalog {
	full := []string{"preFilter", "filter", "preScore", "score"}
	points := map[string][]string{"Sort": {"queueSort"}, "PodTopologySpread": full, "InterPodAffinity": full, "Bind": {"bind"}}
	return config.Catalog{
		Known: []string{"Sort", "PodTopologySpread", "InterPodAffinity", "Bind"},
		Default: []config.PluginWeight{
			{Name: "Sort"}, {Name: "PodTopologySpread", Weight: 2}, {Name: "InterPodAffinity", Weight: 2}, {Name: "Bind"},
		},
		Points: func(plugin string) []string { return points[plugin] },
	}
}
