package follow

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// Progress is how far a new version of a plugin has taken over, in this scheduler.
type Progress struct {
	Plugin string
	// Step is the number of the step of Steps, from 1; 0 if no new version is taking over.
	Step, Steps int
	// Failed is the bound that the version went beyond that the object names; empty if it did not.
	Failed   string
	Versions []Version
}

// Version is a version of a plugin that decides for pods.
type Version struct {
	Role   rollout.Role
	Digest string
	// Share is the part of the pods that it decides for, from 0 to 1.
	Share float64
	// Attempts are those that it decided at the step while this scheduler has led.
	Attempts int64
}

// Progress returns one for each plugin in mode Canary.
func (f *Follower) Progress() (out []Progress) {
	known, steps := make(map[types.UID]*v1alpha1.RolloutStatus), make(map[types.UID]int)
	add := func(uid types.UID, plan *rollout.Plan, s *v1alpha1.RolloutStatus) {
		if plan.Canary && s != nil {
			known[uid], steps[uid] = s, len(rollout.Steps(&plan.Rollout))
		}
	}
	o := f.deps.Source.Objects()
	for _, x := range o.SchedulerPlugins {
		add(x.UID, tenancy.PlanOf(x), x.Status.Rollout)
	}
	for _, x := range o.TenantPlugins {
		add(x.UID, tenancy.TenantPlanOf(x), x.Status.Rollout)
	}
	r := f.Result()
	at := make(map[types.UID]int)
	for i := range r.Plugins {
		p := &r.Plugins[i]
		s := known[p.UID]
		if s == nil || p.Role != "" && p.Role != rollout.Canary {
			continue
		}
		n, ok := at[p.UID]
		if !ok {
			n, at[p.UID] = len(out), len(out)
			plugin, _, _ := strings.Cut(p.Name, "@"+string(rollout.Canary))
			out = append(out, Progress{Plugin: plugin, Steps: steps[p.UID]})
			if s.Canary != nil {
				out[n].Step = int(s.Canary.Step)
			}
			if s.Failed != nil {
				out[n].Failed = s.Failed.Reason
			}
		}
		v := Version{Role: p.Role, Share: shareOf(p), Attempts: f.deps.Meter.attempts(p.Name)}
		if p.Module != nil {
			v.Digest = p.Module.Digest
		}
		out[n].Versions = append(out[n].Versions, v)
	}
	return out
}

// shareOf is the part of the pods that a version decides for.
func shareOf(p *tenancy.Plugin) float64 {
	switch {
	case p.Ready:
		return 0
	case p.Share.All():
		return 1
	}
	return float64(p.Share.To-p.Share.From) / state.Buckets
}
