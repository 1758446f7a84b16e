package assembly

import (
	"maps"

	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// withFramework returns a registry that also has the framework plugins, hosted for a profile.
func (a *Assembly) withFramework(registry plugin.Registry, profile string, parallelism int32) plugin.Registry {
	if len(a.config.Framework) == 0 {
		return registry
	}
	b := a.bridges[profile]
	if b == nil {
		var deps bridge.Deps
		if a.deps.Framework != nil {
			deps = a.deps.Framework(profile)
		}
		deps.Scheduler = func() bridge.Scheduler {
			if s := a.loop.Load(); s != nil {
				return s
			}
			return nil
		}
		b = bridge.New(bridge.Config{Profile: profile, Parallelism: int(parallelism)}, deps)
		if a.bridges == nil {
			a.bridges = make(map[string]*bridge.Bridge)
		}
		a.bridges[profile] = b
	}
	out := maps.Clone(registry)
	maps.Copy(out, b.Registry(a.life, a.config.Framework...))
	return out
}

// compiledIn returns a function that returns the points of a profile's plugins from Config. The
// catalog does not know their points.
func (a *Assembly) compiledIn(b *built) func(name string) ([]string, bool) {
	return func(name string) (points []string, ok bool) {
		made := b.plugins[name]
		if made == nil {
			return nil, false
		}
		_, own := a.config.Plugins[name]
		if _, hosted := made.plugin.(*bridge.Plugin); !own && !hosted {
			return nil, false
		}
		for _, point := range plugin.Points(made.plugin) {
			points = append(points, configName(point))
		}
		return points, true
	}
}
