package assembly

import (
	"context"
	"fmt"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Catalog returns the plugins that a configuration file can name: those that are implemented,
// those that only kube-scheduler v1.37 has, those of Config.Plugins and Config.Framework, and the default profile, which is
// kube-scheduler's, with its order and weights.
func Catalog(compiledIn ...string) config.Catalog {
	registry := hostplugins.All(hostplugins.Deps{Binder: noBinder{}})
	points := make(map[string][]string)
	for _, name := range registry.Names() {
		p, err := registry.New(name, nil)
		if err != nil {
			panic(fmt.Sprintf("BUG: plugin %s cannot be made without arguments: %v", name, err))
		}
		for _, point := range plugin.Points(p) {
			points[name] = append(points[name], configName(point))
		}
	}
	return config.Catalog{
		Known:    registry.Names(),
		Upstream: notBuilt(registry),
		Late:     compiledIn,
		Default:  defaultProfile(),
		Points:   func(name string) []string { return points[name] },
		Features: state.FeatureNames(),
	}
}

// defaultProfile is the multiPoint list of kube-scheduler v1.37
// (pkg/scheduler/apis/config/v1/default_plugins.go).
func defaultProfile() []config.PluginWeight {
	return []config.PluginWeight{
		{Name: "SchedulingGates"},
		{Name: "PrioritySort"},
		{Name: "NodeName"},
		{Name: "NodeUnschedulable"},
		{Name: "TaintToleration", Weight: 3},
		{Name: "NodeAffinity", Weight: 2},
		{Name: "NodePorts"},
		{Name: "NodeResourcesFit", Weight: 1},
		{Name: "VolumeRestrictions"},
		{Name: "NodeVolumeLimits"},
		{Name: "VolumeBinding"},
		{Name: "VolumeZone"},
		{Name: "PodTopologySpread", Weight: 2},
		{Name: "InterPodAffinity", Weight: 2},
		{Name: "DynamicResources", Weight: 2},
		{Name: "DefaultPreemption"},
		{Name: "NodeResourcesBalancedAllocation", Weight: 1},
		{Name: "ImageLocality", Weight: 1},
		{Name: "DefaultBinder"},
		{Name: "NodeDeclaredFeatures"},
	}
}

// notBuilt returns the plugins that kube-scheduler v1.37 has and Berth does not have yet.
func notBuilt(registry plugin.Registry) []string {
	names := []string{"GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"}
	for _, p := range defaultProfile() {
		names = append(names, p.Name)
	}
	var out []string
	for _, name := range names {
		if _, built := registry[name]; !built {
			out = append(out, name)
		}
	}
	return out
}

// noBinder is a Binder for plugins that are only inspected.
type noBinder struct{}

func (noBinder) Bind(context.Context, objects.Binding) error {
	panic("BUG: a plugin of the catalog was asked to bind")
}
