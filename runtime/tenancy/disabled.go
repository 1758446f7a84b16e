package tenancy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// Stopped are plugins that the scheduler's settings disable: what happens to the pods of each, by the
// plugin's name or All. Empty is what the object says.
type Stopped map[string]v1alpha1.WhenDisabled

// All stands for all plugins, except those that are named beside it.
const All = "all"

// ParseStopped reads items of the form NAME, NAME=Hold or NAME=Release.
func ParseStopped(items []string) (Stopped, error) {
	out := make(Stopped)
	for _, item := range items {
		name, then, given := strings.Cut(item, "=")
		when := v1alpha1.WhenDisabled(then)
		switch _, twice := out[name]; {
		case given && when != v1alpha1.Hold && when != v1alpha1.Release:
			return nil, fmt.Errorf("%q: %q is neither Hold nor Release", item, then)
		case name == "" || strings.Count(name, "/") > 1:
			return nil, fmt.Errorf("%q names no plugin: write the name of a SchedulerPlugin, NAMESPACE/NAME of a TenantPlugin, or %s", item, All)
		case twice:
			return nil, fmt.Errorf("%s is named twice", name)
		}
		out[name] = when
	}
	return out, nil
}

// of returns what happens to the pods of a plugin that the settings disable.
func (s Stopped) of(name string) (v1alpha1.WhenDisabled, bool) {
	if when, ok := s[name]; ok {
		return when, true
	}
	when, ok := s[All]
	return when, ok
}

// unlessDisabled refuses a plugin that is disabled. By default pods wait for one that can reject nodes,
// as far as its module may be fetched. name is the object's, mode and when are in its spec.
func (p *Plugin) unlessDisabled(name string, mode v1alpha1.Mode, when v1alpha1.WhenDisabled, fetch bool, c *Config) {
	by := "spec.mode is Disabled"
	if then, ok := c.Stopped.of(name); ok {
		by, when = "the scheduler's settings disable the plugin", cmp.Or(then, when)
	} else if mode != v1alpha1.ModeDisabled {
		return
	}
	if when == "" && fetch {
		if p.load(c); p.Refusal == nil && !slices.ContainsFunc(p.Module.Manifest.Declared(), rejects) {
			when = v1alpha1.Release
		}
		p.Module = nil
	}
	p.Holds = when == v1alpha1.Hold || when != v1alpha1.Release && p.Holds
	p.unlessTried()
	then := "the pods are placed without it"
	if p.Holds {
		then = "the pods wait"
	}
	p.Refusal = refuse(Disabled, "%s, and %s", by, then)
}

// rejects reports whether a plugin can keep a pod from a node at a point.
func rejects(point abi.Point) bool {
	switch point {
	case abi.PreEnqueue, abi.PreFilter, abi.Filter, abi.Reserve, abi.Permit, abi.PreBind:
		return true
	default:
		return false
	}
}
