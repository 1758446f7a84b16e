package tenancy

import (
	"fmt"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// named is the plugin's name in profiles in a role. No object has an @ in its name.
func named(name string, r rollout.Role) string {
	if r == "" {
		return name
	}
	return name + "@" + string(r)
}

// versions returns those of a plan, with their digests.
func versions(status *v1alpha1.RolloutStatus, plan *rollout.Plan, uid string, c *Config) []rollout.Share {
	out := rollout.Shares(status, plan, uid, c.Now)
	for i := range out {
		if v := &out[i].Version; v.Digest != "" {
			v.Module.Digest = v.Digest
		}
	}
	return out
}

// PlanOf returns what a SchedulerPlugin asks for.
func PlanOf(p *v1alpha1.SchedulerPlugin) *rollout.Plan {
	return plan(p.Spec.Mode, p.Generation, p.Spec.Rollout, v1alpha1.PluginVersion{Module: p.Spec.Module, Config: p.Spec.Config})
}

// TenantPlanOf returns what a TenantPlugin asks for.
func TenantPlanOf(p *v1alpha1.TenantPlugin) *rollout.Plan {
	m := v1alpha1.ModuleSource{Image: p.Spec.Module.Image, Digest: p.Spec.Module.Digest}
	return plan(p.Spec.Mode, p.Generation, p.Spec.Rollout, v1alpha1.PluginVersion{Module: m, Config: p.Spec.Config})
}

// unlessOdd returns what is wrong with how a version takes over.
func unlessOdd(r *v1alpha1.Rollout, when v1alpha1.WhenDisabled) error {
	if when != "" && when != v1alpha1.Hold && when != v1alpha1.Release {
		return fmt.Errorf("spec.whenDisabled: %q is neither Hold nor Release", when)
	}
	if err := rollout.Check(r); err != nil {
		return fmt.Errorf("spec.rollout.%w", err)
	}
	return nil
}

func plan(mode v1alpha1.Mode, generation int64, r *v1alpha1.Rollout, v v1alpha1.PluginVersion) *rollout.Plan {
	out := &rollout.Plan{Canary: mode == v1alpha1.ModeCanary, Shadow: mode == v1alpha1.ModeShadow, Version: v, Generation: generation}
	if r != nil {
		out.Rollout = *r
	}
	return out
}

// takesPart gives a plugin the role of a version.
func (p *Plugin) takesPart(v *rollout.Share) {
	stable := p.Name
	p.Name = named(p.Name, v.Role)
	p.Reference.Name = p.Name
	p.Role, p.Share, p.Ready = v.Role, v.Pods, v.Ready
	if v.Role == rollout.Trial {
		p.Reference.Use = module.Use{Mode: v1alpha1.ModeShadow, Replaces: stable}
	}
}
