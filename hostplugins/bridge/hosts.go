package bridge

import (
	"context"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Hosts hosts plugins in the profiles of a scheduler, each profile in a bridge of its own. It is the Framework of
// runtime/assembly.
type Hosts struct {
	Sources []Source
	// Deps (optional) returns what the plugins of a profile see of the cluster. The Scheduler in it is replaced.
	Deps func(profile string) Deps
}

// Names returns the names of the plugins.
func (h *Hosts) Names() []string {
	names := make([]string, len(h.Sources))
	for i := range h.Sources {
		names[i] = h.Sources[i].Name
	}
	return names
}

// Registry returns factories of the plugins for a profile. ctx is the context of the plugins that they make, and
// parallelism and loop are Config.Parallelism and Deps.Scheduler.
func (h *Hosts) Registry(ctx context.Context, profile string, parallelism int, loop func() plugin.Loop) plugin.Registry {
	var deps Deps
	if h.Deps != nil {
		deps = h.Deps(profile)
	}
	deps.Scheduler = loop
	return New(Config{Profile: profile, Parallelism: parallelism}, deps).Registry(ctx, h.Sources...)
}
