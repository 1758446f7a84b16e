package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/telemetry"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/tenancy/follow"
)

// apiPlugins is a follow.Source.
type apiPlugins struct{ *kube.Cluster }

// Objects implements follow.Source.
func (p apiPlugins) Objects() *tenancy.Objects {
	o := tenancy.Objects(p.PluginObjects())
	return &o
}

// Changed implements follow.Source.
func (p apiPlugins) Changed() <-chan struct{} { return p.PluginsChanged() }

// followPlugins has the scheduler run the plugins of the API until stop is called.
func followPlugins(
	ctx context.Context, a *assembly.Assembly, s *config.Scheduler, stopped tenancy.Stopped, modules *assembly.Modules, cluster *kube.Cluster,
	w *watched, log *slog.Logger,
) (f *follow.Follower, stop func()) {
	f = follow.New(
		follow.Config{Taken: pluginNames(s), Stopped: stopped},
		follow.Deps{Source: apiPlugins{cluster}, Scheduler: a, Modules: modules, Writer: cluster, Meter: &w.canaries, Log: log,
			Running: func(s assembly.Status) { w.metrics.Running(modulesOf(s)) }, Panicked: a.Panicked})
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { f.Run(ctx) })
	return f, func() {
		cancel()
		following.Wait()
	}
}

// tellStopped logs which plugins the settings disable, and names that no object has.
func tellStopped(log *slog.Logger, stopped tenancy.Stopped, r *follow.Result) {
	if len(stopped) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(stopped))
	log.Warn("plugins of the API do not run: --disable-plugins names them", "plugins", names)
	for _, name := range names {
		if !slices.ContainsFunc(r.Plugins, func(p tenancy.Plugin) bool {
			return name == tenancy.All || name == strings.TrimPrefix(p.Namespace+"/"+p.Object, "/")
		}) {
			log.Warn("--disable-plugins names a plugin that the API does not have", "plugin", name)
		}
	}
}

// rolloutsOf are the metrics of new versions that take over.
func rolloutsOf(all []follow.Progress) (out []telemetry.Rollout) {
	for i := range all {
		p := &all[i]
		r := telemetry.Rollout{Plugin: p.Plugin, Step: p.Step, Failed: p.Failed}
		for _, v := range p.Versions {
			r.Versions = append(r.Versions, telemetry.Version{Version: v.Role.String(), Digest: v.Digest, Share: v.Share, Attempts: v.Attempts})
		}
		out = append(out, r)
	}
	return out
}
