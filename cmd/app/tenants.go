package app

import (
	"cmp"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/tenancy"
)

// resolve decides which plugins the objects of cluster files attach.
func resolve(o *input.Objects, modules *assembly.Modules, scheduler *config.Scheduler) *tenancy.Result {
	objects := tenancy.Objects{
		SchedulerPlugins: o.SchedulerPlugins, PluginGrants: o.PluginGrants, TenantPlugins: o.TenantPlugins,
		Namespaces: make(map[string]map[string]string),
	}
	for _, p := range o.TenantPlugins { // files may leave namespaces out
		objects.Namespaces[p.Namespace] = nil
	}
	for _, ns := range o.Namespaces {
		objects.Namespaces[ns.Name] = ns.Labels
	}
	return tenancy.Resolve(&objects, tenancy.Config{
		Load: func(ref module.Reference, _ string) (*module.Loaded, error) {
			m, err := modules.Load(ref)
			if err != nil {
				return nil, err
			}
			return m.Loaded, nil
		},
		Now: time.Now(), Taken: pluginNames(scheduler), Most: assembly.MaxAttached,
	})
}

// pluginNames are the names of the plugins in profiles.
func pluginNames(s *config.Scheduler) (out []string) {
	for i := range s.Profiles {
		for _, refs := range s.Profiles[i].Points {
			for _, ref := range refs {
				out = append(out, ref.Name)
			}
		}
	}
	return out
}

// attachedObjects returns the state of each object. refused has the plugins that could not be
// started, faults those that are not called.
func attachedObjects(r *tenancy.Result, refused map[string]error, faults map[string]*tenancy.Refusal) (out []sim.Attached) {
	add := func(x sim.Attached, refusal *tenancy.Refusal) {
		x.Ready = refusal == nil
		if refusal != nil {
			x.Reason, x.Message = refusal.Reason, refusal.Message
		}
		out = append(out, x)
	}
	for i := range r.Plugins {
		p := &r.Plugins[i]
		x := sim.Attached{Kind: p.Kind, Namespace: p.Namespace, Name: p.Object, Grant: p.Grant}
		x.Reason, _ = p.Runs()
		if p.Module != nil {
			x.Version, x.Digest = p.Module.Manifest.Version, p.Module.Digest
		}
		refusal := cmp.Or(p.Refusal, faults[p.Name])
		if err := refused[p.Name]; err != nil {
			refusal = &tenancy.Refusal{Reason: assembly.Refused, Message: err.Error()}
		}
		add(x, refusal)
	}
	for i := range r.Grants {
		add(sim.Attached{Kind: v1alpha1.KindPluginGrant, Name: r.Grants[i].Object, Reason: tenancy.InForce}, r.Grants[i].Refusal)
	}
	return out
}

// attached prints the state of each object, and below the table why some are not in force.
func (p *printer) attached(all []sim.Attached) {
	if len(all) == 0 {
		return
	}
	name := func(x *sim.Attached) string { return x.Kind + " " + strings.TrimPrefix(x.Namespace+"/"+x.Name, "/") }
	rows := make([]table.Row, 0, len(all))
	for i := range all {
		x := &all[i]
		ready := "no"
		if x.Ready {
			ready = "yes"
		}
		rows = append(rows, table.Row{name(x), ready, x.Reason, x.Version, x.Grant})
	}
	p.table([]column{{head: "OBJECT"}, {head: "READY"}, {head: "REASON"}, {head: "VERSION"}, {head: "GRANT"}}, rows)
	refused := false
	for i := range all {
		if !all[i].Ready {
			p.text("%s: %s: %s", name(&all[i]), all[i].Reason, all[i].Message)
			refused = true
		}
	}
	if refused {
		p.printf("\n")
	}
}
