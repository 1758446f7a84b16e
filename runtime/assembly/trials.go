package assembly

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/shadow"
)

// trial is a plugin in shadow in a profile.
type trial struct {
	name     string
	replaces string
	profile  config.Profile // with the plugin, and without the one that it replaces
	position string         // of its args in the file
	built    *built
}

// repeated are the points that a trial repeats. What comes after the choice of a node would act,
// and what comes before it orders pods that are there once.
func repeated() []abi.Point {
	return []abi.Point{abi.PreFilter, abi.Filter, abi.PostFilter, abi.PreScore, abi.Score}
}

// separate takes plugins in mode Off and Shadow out of a configuration. It returns what remains,
// which decides, and the plugins in shadow.
func separate(s *config.Scheduler) (*config.Scheduler, []trial, error) {
	if !slices.ContainsFunc(s.Profiles, func(p config.Profile) bool { return len(idle(&p)) > 0 }) {
		return s, nil, nil
	}
	whole := s
	s = clone(s)
	var trials []trial
	var errs []error
	for i := range s.Profiles {
		p := &s.Profiles[i]
		out := idle(p)
		for _, name := range out {
			remove(p, name)
		}
		for _, name := range out {
			args := whole.Profiles[i].Args[name]
			how := args.Typed.(*Module).Reference.Trial
			if how.Mode != module.Shadow {
				continue
			}
			t := trial{name: name, replaces: how.Replaces, position: args.Position}
			if err := t.fits(p, whole); err != nil {
				errs = append(errs, fmt.Errorf("profile %q: %s%w", p.SchedulerName, args.Position, err))
				continue
			}
			t.profile = clone(whole).Profiles[i]
			for _, other := range append(out, how.Replaces) {
				if other != name {
					remove(&t.profile, other)
				}
			}
			t.own()
			trials = append(trials, t)
		}
	}
	return s, trials, errors.Join(errs...)
}

// idle returns the plugins of a profile that do not decide, sorted.
func idle(p *config.Profile) (names []string) {
	for name, args := range p.Args {
		if m, ok := args.Typed.(*Module); ok && m.Reference.Trial.Mode != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// remove takes a plugin out of a profile.
func remove(p *config.Profile, name string) {
	for point, refs := range p.Points {
		p.Points[point] = slices.DeleteFunc(slices.Clone(refs), func(ref config.PluginRef) bool { return ref.Name == name })
	}
	delete(p.Args, name)
}

// fits says why a plugin cannot be tried in a profile.
func (t *trial) fits(p *config.Profile, s *config.Scheduler) error {
	if len(s.Extenders) > 0 {
		return fmt.Errorf("%s: mode Shadow: HTTP extenders are asked once for each pod, so nothing can be decided again; compare berth simulate with and without the plugin", t.name)
	}
	if t.replaces != "" && !lists(p, t.replaces) {
		return fmt.Errorf("%s: replaces: no plugin %q decides in the profile; name one that does, or leave it out", t.name, t.replaces)
	}
	return nil
}

// lists reports whether a profile has a plugin at some point.
func lists(p *config.Profile, name string) bool {
	for _, refs := range p.Points {
		if slices.ContainsFunc(refs, func(ref config.PluginRef) bool { return ref.Name == name }) {
			return true
		}
	}
	return false
}

// own marks the modules of the trial, so that they share neither instances nor fuel nor memory
// with those that decide.
func (t *trial) own() {
	for name, args := range t.profile.Args {
		if m, ok := args.Typed.(*Module); ok {
			apart := *m
			apart.trial = t.name
			args.Typed = &apart
			t.profile.Args[name] = args
		}
	}
}

// runs reports whether the trial would ever call the plugin.
func (t *trial) runs() bool {
	for _, point := range repeated() {
		if slices.ContainsFunc(t.profile.Points[configName(point)], func(ref config.PluginRef) bool { return ref.Name == t.name }) {
			return true
		}
	}
	return false
}

// buildTrials makes the pipelines of trials, beside the attached plugins that run. It reuses
// those of old trials that are the same. If it fails, it closes what it made.
func (a *Assembly) buildTrials(ctx context.Context, s *config.Scheduler, trials []trial, with *attached, old []trial) ([]trial, error) {
	var out []trial
	var errs []error
	for _, t := range trials {
		at := fmt.Sprintf("profile %q: %s%s: mode Shadow: ", t.profile.SchedulerName, t.position, t.name)
		if !t.runs() {
			errs = append(errs, fmt.Errorf("%sa trial repeats preFilter, filter, postFilter, preScore and score, and the module runs at none of them", at))
			continue
		}
		var before []*built
		for i := range old {
			if o := &old[i]; o.name == t.name && o.replaces == t.replaces && o.profile.SchedulerName == t.profile.SchedulerName {
				before = append(before, o.built)
			}
		}
		if name := a.compiled(&t.profile); name != "" {
			errs = append(errs, fmt.Errorf("%s%s is compiled into the program and cannot be asked twice; compare berth simulate with and without the plugin", at, name))
			continue
		}
		alone := *s
		alone.Profiles = []config.Profile{t.profile}
		built, err := a.buildWith(ctx, &alone, with.apart(t.name), before)
		if err != nil {
			errs = append(errs, fmt.Errorf("in shadow: %w", err))
			continue
		}
		t.built = built[0]
		out = append(out, t)
	}
	if len(errs) > 0 {
		a.releaseTrials(out)
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// compiled returns a plugin of Config in a profile; empty if there is none.
func (a *Assembly) compiled(p *config.Profile) string {
	names := slices.Sorted(maps.Keys(a.config.Plugins))
	for _, source := range a.config.Framework {
		names = append(names, source.Name)
	}
	for _, name := range names {
		if lists(p, name) {
			return name
		}
	}
	return ""
}

// apart returns the attached plugins for a trial.
func (x *attached) apart(trial string) *attached {
	out := attached{all: slices.Clone(x.all), refused: x.refused}
	for i := range out.all {
		if m := out.all[i].Module; m != nil {
			apart := *m
			apart.trial, out.all[i].Module = trial, &apart
		}
	}
	return &out
}

func (a *Assembly) releaseTrials(all []trial) {
	for i := range all {
		a.closing.releaseLater(all[i].built)
	}
}

// setTrials has the loop run trials from now on.
func (a *Assembly) setTrials(trials []trial) {
	var all []shadow.Trial
	for i := range trials {
		t := &trials[i]
		all = append(all, shadow.Trial{Plugin: t.name, Replaces: t.replaces, Namespaces: t.namespaces(a.mu.built), Pipeline: t.built.pipeline})
	}
	a.shadow.Set(all)
}

// namespaces are those of the pods that the plugin, or the one that it replaces, applies to; nil
// for all.
func (t *trial) namespaces(deciding []*built) []string {
	out := t.built.plugins[t.name].plugin.Info().Namespaces
	if len(out) == 0 || t.replaces == "" {
		return out
	}
	for _, b := range deciding {
		if made := b.plugins[t.replaces]; made != nil && b.profile.SchedulerName == t.profile.SchedulerName {
			more := made.plugin.Info().Namespaces
			if len(more) == 0 {
				return nil
			}
			out = slices.Concat(out, more)
		}
	}
	return out
}

// Trials returns what came of the plugins in shadow. It may be called from any goroutine.
func (a *Assembly) Trials() []shadow.Report { return a.shadow.Reports() }
