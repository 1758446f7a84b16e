package assembly

import (
	"context"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

// Reload replaces the plugins of the running scheduler with those of another configuration. It
// makes and probes the new plugins while the old ones run, then swaps them between two
// attempts. Plugins that are the same stay. changed are the names of the others.
//
// It does not change settings other than profiles and plugins.
//
// # Errors
//
// The set of profiles differs, or a plugin cannot be made. Then nothing changes.
func (a *Assembly) Reload(ctx context.Context, s *config.Scheduler) (changed []string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reload(ctx, s, a.withFolder(a.mu.attached.all))
}

// ReloadAll is Reload and Attach at once.
//
// # Errors
//
// Those of Reload.
func (a *Assembly) ReloadAll(ctx context.Context, s *config.Scheduler, all []Attached) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := a.reload(ctx, s, a.withFolder(all))
	return err
}

// reload is Reload with the attached plugins. The caller holds a.mu.
func (a *Assembly) reload(ctx context.Context, s *config.Scheduler, all []Attached) (changed []string, err error) {
	defer func() { a.reloaded(a.mu.built, changed, err) }()
	names := func(profiles []config.Profile) (out []string) {
		for i := range profiles {
			out = append(out, profiles[i].SchedulerName)
		}
		return out
	}
	if !slices.Equal(names(s.Profiles), a.Profiles) {
		return nil, errProfiles
	}
	whole := s
	s, separated, err := separate(whole)
	if err != nil {
		return nil, err
	}
	old := a.mu.built
	next, with, err := a.buildAttached(ctx, s, all, old)
	if err != nil {
		return nil, err
	}
	trials, err := a.buildTrials(ctx, s, separated, &with, a.mu.trials, whole == a.mu.base)
	if err != nil {
		a.releaseAll(next)
		return nil, err
	}
	var pipelines []*pipeline.Pipeline
	differ := make(map[string]bool)
	for i, b := range next {
		pipelines = append(pipelines, b.pipeline)
		for name, made := range b.plugins {
			if before := old[i].plugins[name]; before == nil || before.plugin != made.plugin {
				differ[name] = true
			}
		}
		for name := range old[i].plugins {
			if b.plugins[name] == nil {
				differ[name] = true
			}
		}
	}
	changed = slices.Sorted(maps.Keys(differ))
	left := scheduler.Left{
		Replaced: func() {
			for i, b := range old {
				b.retire(next[i])
			}
		},
		Drained: func() {
			for _, b := range old {
				a.closing.releaseLater(b)
			}
		},
	}
	recorded, err := a.swapped(s, next, &with)
	if err == nil {
		err = a.Scheduler.Swap(pipelines, changed, recorded, left)
	}
	if err != nil {
		a.releaseAll(next)
		a.releaseTrials(trials)
		return nil, err
	}
	for _, err := range with.refused {
		with.full = with.full || noMemory(err)
	}
	a.mu.built, a.mu.base, a.mu.attached = next, whole, with
	a.setTrials(trials)
	a.releaseTrials(a.mu.trials)
	a.mu.trials = trials
	a.follow()
	a.logChanges(ctx, old, next)
	return changed, nil
}
