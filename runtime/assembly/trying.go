package assembly

import (
	"fmt"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Trying returns Config with one plugin on trial. One in shadow is tried as it is. One that decides is tried
// in the place of replaces or, if that is empty, beside the plugins that remain without it. Both are then for
// all pods, and not for a share of them.
//
// # Errors
//
// No module of that name runs, or none of replaces.
func (a *Assembly) Trying(name, replaces string) (Config, error) {
	c := a.Config()
	c.Scheduler = clone(c.Scheduler)
	a.now.Lock()
	defer a.now.Unlock()
	found := false
	for i := range c.Scheduler.Profiles {
		p := &c.Scheduler.Profiles[i]
		m := moduleOf(p.Args[name])
		if m == nil {
			t := slices.IndexFunc(a.now.trials, func(t trial) bool { return t.name == name && t.profile.SchedulerName == p.SchedulerName })
			if t >= 0 {
				graft(p, &a.now.trials[t].built.profile, name)
				found = true
			}
			continue
		}
		found = true
		mode := module.Use{Mode: v1alpha1.ModeShadow, Replaces: replaces}
		if replaces != "" {
			stable := moduleOf(p.Args[replaces])
			if stable == nil {
				return c, fmt.Errorf("no module %q runs in the profile %q", replaces, p.SchedulerName)
			}
			setModule(p, replaces, stable, stable.Reference.Use)
		}
		setModule(p, name, m, mode)
		sort := configName(abi.QueueSort)
		if slices.ContainsFunc(p.Points[sort], func(ref config.PluginRef) bool { return ref.Name == name }) {
			p.Points[sort] = Default().Profiles[0].Points[sort]
		}
	}
	if !found {
		return c, fmt.Errorf("no module %q runs or is in shadow", name)
	}
	return c, nil
}

// setModule puts a plugin that is for all pods in the place of the one of its name.
func setModule(p *config.Profile, name string, m *Module, how module.Use) {
	own := *m
	own.Share, own.trial, own.Reference.Use = state.Share{}, "", how
	args := p.Args[name]
	args.Module = &own
	p.Args[name] = args
}

// graft takes a plugin in shadow over from the profile of its trial, where it has a place among those that
// decide.
func graft(p, from *config.Profile, name string) {
	for point, refs := range from.Points {
		at := slices.IndexFunc(refs, func(ref config.PluginRef) bool { return ref.Name == name })
		if at < 0 {
			continue
		}
		to := 0
		if at > 0 {
			to = 1 + slices.IndexFunc(p.Points[point], func(ref config.PluginRef) bool { return ref.Name == refs[at-1].Name })
		}
		p.Points[point] = slices.Insert(p.Points[point], to, refs[at])
	}
	p.Args[name] = from.Args[name]
	m := moduleOf(from.Args[name])
	setModule(p, name, m, m.Reference.Use)
}
