package assembly

import (
	"context"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Framework hosts plugins of kube-scheduler's framework, as hostplugins/bridge.Hosts does. It is an interface so that
// client-go, which hosting needs, is only in programs that have such plugins.
type Framework interface {
	// Names returns the names of the plugins.
	Names() []string
	// Registry returns factories of the plugins for one profile, whose plugins share what they are hosted in. ctx
	// ends with the scheduler. loop returns nil while the scheduler is being made.
	Registry(ctx context.Context, profile string, parallelism int, loop func() plugin.Loop) plugin.Registry
}

// withFramework returns a registry that also has the framework plugins, hosted for a profile.
func (a *Assembly) withFramework(registry plugin.Registry, profile string, parallelism int32) plugin.Registry {
	host := a.config.Framework
	if host == nil {
		return registry
	}
	if a.deps.Framework != nil {
		host = a.deps.Framework
	}
	hosted, ok := a.hosted[profile]
	if !ok {
		hosted = host.Registry(a.life, profile, int(parallelism), func() plugin.Loop {
			if s := a.loop.Load(); s != nil {
				return s
			}
			return nil
		})
		if a.hosted == nil {
			a.hosted = make(map[string]plugin.Registry)
		}
		a.hosted[profile] = hosted
	}
	out := maps.Clone(registry)
	maps.Copy(out, hosted)
	return out
}

// compiles reports whether Config has plugins.
func (c *Config) compiles() bool { return len(c.Plugins) > 0 || c.Framework != nil }

// frameworkNames returns the names of the framework plugins.
func (c *Config) frameworkNames() []string {
	if c.Framework == nil {
		return nil
	}
	return c.Framework.Names()
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
		_, isModule := made.args.(*Module)
		if !own && (isModule || !slices.Contains(a.config.frameworkNames(), name)) {
			return nil, false
		}
		for _, point := range plugin.Points(made.plugin) {
			points = append(points, configName(point))
		}
		return points, true
	}
}
