package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// TestPartial: a partly implemented plugin runs at the points that it has. It is accepted at
// other points and with any args, which are ignored. There is a warning unless the plugin is
// disabled.
func TestPartial(t *testing.T) {
	cat := smallCatalog()
	cat.Partial = []string{"D"}
	cat.Default = append(cat.Default, config.PluginWeight{Name: "D"})
	const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: s\n"
	const name = `plugin "D" of kube-scheduler v1.36 is only partly implemented: `
	const pending = "pods that need a rule that only this plugin enforces stay pending"
	for _, test := range []struct {
		yaml, filter, warning string
	}{
		{head, "A B D", name + pending},
		{head + "  plugins: {multiPoint: {disabled: [{name: D}]}}\n", "A B", ""},
		{head + "  plugins: {reserve: {enabled: [{name: D}]}}\n", "A B D", name + pending},
		{head + "  pluginConfig: [{name: D, args: {bindingTimeout: 5s}}]\n", "A B D", name + "its args are ignored, and " + pending},
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(test.yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		c, warnings, err := config.Load(file, cat)
		if err != nil {
			t.Errorf("%s: %v", test.yaml, err)
			continue
		}
		var filter []string
		for _, ref := range c.Profiles[0].Points["filter"] {
			filter = append(filter, ref.Name)
		}
		if got := strings.Join(filter, " "); got != test.filter || len(c.Profiles[0].Points["reserve"]) > 0 {
			t.Errorf("%s: filters %q, reserve %v", test.yaml, got, c.Profiles[0].Points["reserve"])
		}
		got := ""
		for _, w := range warnings {
			if w.Plugin == "D" {
				got += w.Detail
			}
		}
		if got != test.warning {
			t.Errorf("%s: warning %q, want %q", test.yaml, got, test.warning)
		}
	}
}
