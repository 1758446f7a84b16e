package assembly

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/shadow"
)

// trial is a plugin in shadow in a profile.
type trial struct {
	name     string
	replaces string
	profile  config.Profile // with the plugin, and without the one that it replaces
	position string         // of its args in the file
	attached *Attached      // nil if the configuration has the plugin
	built    *built
}

// inShadow reports whether an attached plugin is one in shadow.
func (x *Attached) inShadow() bool {
	return x.Module != nil && x.Module.Reference.Use.Mode == v1alpha1.ModeShadow
}

// repeated are the points that a trial repeats. What comes after the choice of a node would act,
// and what comes before it orders pods that are there once.
func repeated() []abi.Point {
	return []abi.Point{abi.PreFilter, abi.Filter, abi.PostFilter, abi.PreScore, abi.Score}
}

// separate takes plugins in mode Disabled and Shadow out of a configuration. It returns what remains,
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
			p.Remove(name)
		}
		for _, name := range out {
			args := whole.Profiles[i].Args[name]
			how := moduleOf(args).Reference.Use
			if how.Mode != v1alpha1.ModeShadow {
				continue
			}
			t := trial{name: name, replaces: how.Replaces, position: args.Position}
			if err := t.fits(p, whole, nil); err != nil {
				errs = append(errs, fmt.Errorf("profile %q: %s%w", p.SchedulerName, args.Position, err))
				continue
			}
			t.profile = clone(whole).Profiles[i]
			for _, other := range append(out, how.Replaces) {
				if other != name {
					t.profile.Remove(other)
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
		if m := moduleOf(args); m != nil && m.Reference.Use.Mode != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// fits says why a plugin cannot be tried in a profile.
func (t *trial) fits(p *config.Profile, s *config.Scheduler, with *attached) error {
	if len(s.Extenders) > 0 {
		return fmt.Errorf("%s: mode Shadow: HTTP extenders are asked once for each pod, so nothing can be decided again; compare berth simulate with and without the plugin", t.name)
	}
	if t.replaces != "" && !p.Lists(t.replaces) && !with.decides(t.replaces) {
		return fmt.Errorf("%s: replaces: no plugin %q decides in the profile; name one that does, or leave it out", t.name, t.replaces)
	}
	return nil
}

// decides reports whether an attached plugin of that name decides.
func (x *attached) decides(name string) bool {
	return x != nil && slices.ContainsFunc(x.all, func(o Attached) bool {
		return o.Name == name && o.Module != nil && !o.inShadow() && x.refused[name] == nil
	})
}

// own marks the modules of the trial, so that they share neither instances nor fuel nor memory
// with those that decide.
func (t *trial) own() {
	for name, args := range t.profile.Args {
		if m := moduleOf(args); m != nil {
			apart := *m
			apart.trial = t.name
			args.Module = &apart
			t.profile.Args[name] = args
		}
	}
}

// same reports whether both are the same plugin in the same place, of whatever version.
func (t *trial) same(o trial) bool {
	return o.name == t.name && o.replaces == t.replaces && o.profile.SchedulerName == t.profile.SchedulerName
}

// runs reports whether the trial would ever call the plugin.
func (t *trial) runs() bool {
	for _, point := range repeated() {
		if slices.ContainsFunc(t.built.profile.Points[configName(point)], func(ref config.PluginRef) bool { return ref.Name == t.name }) {
			return true
		}
	}
	return false
}

// maxTrials is how many attached plugins can be in shadow at once, in all profiles. Each has
// instances of the others as well.
const maxTrials = 16

// attachedTrials adds those of attached plugins, in each profile. s is what decides.
func attachedTrials(s *config.Scheduler, trials []trial, with *attached) []trial {
	count := 0
	for i := range with.all {
		x := &with.all[i]
		if !x.inShadow() || with.refused[x.Name] != nil {
			continue
		}
		if count++; count > maxTrials {
			with.refused[x.Name] = fmt.Errorf("the scheduler tries at most %d attached plugins at once", maxTrials)
			continue
		}
		var misfit error
		fits := false
		for j := range s.Profiles {
			t := trial{name: x.Name, replaces: x.Module.Reference.Use.Replaces, attached: x, profile: clone(s).Profiles[j]}
			if err := t.fits(&t.profile, s, with); err != nil {
				misfit = fmt.Errorf("profile %q: %w", t.profile.SchedulerName, err)
				continue
			}
			fits = true
			t.profile.Remove(t.replaces)
			t.own()
			trials = append(trials, t)
		}
		if !fits {
			with.refused[x.Name] = misfit
		}
	}
	return trials
}

// buildTrials makes the pipelines of trials, beside the attached plugins that run. It reuses
// those of old trials that are the same. An attached plugin that cannot be tried is refused. A trial
// of the configuration is left out if what is attached is to blame, since only that is new;
// otherwise, if it fails, buildTrials closes what it made. With Config.WithoutShadow there are none.
func (a *Assembly) buildTrials(ctx context.Context, s *config.Scheduler, trials []trial, with *attached, old []trial, onlyAttached bool) ([]trial, error) {
	if a.config.WithoutShadow {
		return nil, nil
	}
	var out []trial
	var errs []error
	for _, t := range attachedTrials(s, trials, with) {
		err := a.buildTrial(ctx, s, &t, with, old)
		switch {
		case err == nil:
			out = append(out, t)
		case t.attached != nil:
			with.refused[t.name] = err
		case onlyAttached:
			with.full = with.full || noMemory(err)
			if a.deps.Log != nil && slices.ContainsFunc(old, t.same) {
				a.deps.Log.Warn("a plugin in shadow is not tried beside the plugins that are attached now",
					"plugin", t.name, "profile", t.profile.SchedulerName, "error", plain.Error(err, maxRefusal))
			}
		default:
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		a.releaseTrials(out)
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// buildTrial makes the pipeline of a trial.
func (a *Assembly) buildTrial(ctx context.Context, s *config.Scheduler, t *trial, with *attached, old []trial) error {
	at := fmt.Sprintf("profile %q: %s%s: mode Shadow: ", t.profile.SchedulerName, t.position, t.name)
	if name := a.compiled(&t.profile); name != "" {
		return fmt.Errorf("%s%s is compiled into the program and cannot be asked twice; compare berth simulate with and without the plugin", at, name)
	}
	var before []*built
	for _, o := range old {
		if t.same(o) {
			before = append(before, o.built)
		}
	}
	alone := *s
	alone.Profiles = []config.Profile{t.profile}
	made, err := a.buildWith(ctx, &alone, with.apart(t), before)
	if err != nil {
		return fmt.Errorf("in shadow: %w", err)
	}
	if t.built = made[0]; !t.runs() {
		a.closing.release(t.built)
		return fmt.Errorf("%sa trial repeats preFilter, filter, postFilter, preScore and score, and the module runs at none of them", at)
	}
	return nil
}

// ofTenant reports whether a tenant's plugin is tried. It takes the place of one of the same namespace only.
func (t *trial) ofTenant() bool { return t.attached != nil && t.attached.Module.Reference.Tenant != "" }

// meets reports whether both plugins apply to pods of some namespace.
func (x *Attached) meets(o *Attached) bool {
	return len(x.Namespaces) == 0 || len(o.Namespaces) == 0 ||
		slices.ContainsFunc(x.Namespaces, func(ns string) bool { return slices.Contains(o.Namespaces, ns) })
}

// compiled returns a plugin of Config in a profile; empty if there is none.
func (a *Assembly) compiled(p *config.Profile) string {
	names := slices.Sorted(maps.Keys(a.config.Plugins))
	for _, name := range append(names, a.config.frameworkNames()...) {
		if p.Lists(name) {
			return name
		}
	}
	return ""
}

// apart returns the attached plugins of a trial: those that decide about its pods, with the one on trial.
// Those of other tenants would cost memory, and their errors would be told to the one whose trial it is.
func (x *attached) apart(t *trial) *attached {
	out := attached{refused: x.refused}
	for i := range x.all {
		one := x.all[i]
		if one.Name == t.replaces || one.inShadow() && one.Name != t.name || t.ofTenant() && !one.meets(t.attached) {
			continue
		}
		if one.Module != nil {
			apart := *one.Module
			apart.trial, one.Module = t.name, &apart
		}
		out.all = append(out.all, one)
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
		one := shadow.Trial{Plugin: t.name, Replaces: t.replaces, Namespaces: t.namespaces(a.mu.built), Pipeline: t.built.pipeline}
		if t.attached != nil {
			one.Share = t.attached.Share
		}
		all = append(all, one)
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

// Trials returns the results of the plugins in shadow. It may be called from any goroutine.
func (a *Assembly) Trials() []shadow.Report { return a.shadow.Reports() }
