package follow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// seen is what this scheduler knows of the version that an object names, whose versions begin at first in
// r.Plugins.
func (f *Follower) seen(r *Result, first int, plan *rollout.Plan, s *status, faults map[string]*tenancy.Refusal, now time.Time) *rollout.Seen {
	out := &rollout.Seen{Now: now}
	role, stable := rollout.Role(""), ""
	both := "" // the reason why the stable version cannot run; as that of another, it says nothing about that one
	if plan.Canary {
		role = rollout.Canary
	}
	for i := first; i < len(r.Plugins) && r.Plugins[i].UID == r.Plugins[first].UID; i++ {
		p := &r.Plugins[i]
		if p.Role == "" {
			stable = p.Name
			if refusal := r.refusal(i); refusal != nil && plan.Canary {
				both = refusal.Reason
			}
		}
		if p.Role == rollout.Trial {
			if refusal := r.refusal(i); refusal != nil {
				out.Untried = refusal.Reason + ": " + refusal.Message
			}
		}
		if p.Role != role {
			continue
		}
		if refusal := r.refusal(i); refusal == nil {
			out.Digest, out.Image = v1alpha1.Digest(p.Module.Digest), v1alpha1.Digest(p.Module.Image)
		} else if !refusal.Passes && refusal.Reason != both && refusal.Reason != tenancy.Fetching && refusal.Reason != Compiling && refusal.Reason != tenancy.Disabled {
			out.Refused = refusal.Reason + ": " + refusal.Message
		} else {
			out.Waits = refusal.Reason + ": " + refusal.Message
		}
		if !plan.Canary || s.Rollout == nil || s.Rollout.Canary == nil {
			continue
		}
		if fault := faults[p.Name]; fault != nil {
			out.Stopped = fault.Message
		}
		c := s.Rollout.Canary
		step := Step{Canary: p.Name, Stable: stable, Number: c.Step, Since: c.Since.Time, P99: rollout.P99(&plan.Rollout)}
		out.Counts = f.deps.Meter.Watch(step, f.totals(p.Name, stable))
	}
	return out
}

// judged reports whether the versions of the object at first in r.Plugins decide for these parts of the pods.
func (r *Result) judged(first int, shares []rollout.Share) bool {
	shares = slices.DeleteFunc(shares, func(s rollout.Share) bool { return s.Ready })
	slices.SortFunc(shares, func(a, b rollout.Share) int { return cmp.Compare(a.Role, b.Role) })
	for i := first; i < len(r.Plugins) && r.Plugins[i].UID == r.Plugins[first].UID; i++ {
		p := &r.Plugins[i]
		if p.Ready {
			continue
		}
		if len(shares) == 0 || shares[0].Role != p.Role || shares[0].Pods != p.Share {
			return false
		}
		shares = shares[1:]
	}
	return len(shares) == 0
}

// canary is the index in r.Plugins of the canary of the object at first; -1 if it has none.
func (r *Result) canary(first int) int {
	for i := first; i < len(r.Plugins) && r.Plugins[i].UID == r.Plugins[first].UID; i++ {
		if r.Plugins[i].Role == rollout.Canary {
			return i
		}
	}
	return -1
}

// totals are the counts of a canary and of the stable version since they were loaded.
func (f *Follower) totals(canary, stable string) (out Totals) {
	trial := strings.TrimSuffix(canary, string(rollout.Canary)) + string(rollout.Trial)
	status := f.deps.Scheduler.Status()
	for i := range status.Plugins {
		p := &status.Plugins[i]
		used := map[string]*rollout.Used{canary: &out.Canary, stable: &out.Stable}[p.Name]
		if p.Shadow {
			used = map[string]*rollout.Used{trial: &out.Trial}[p.Name]
		}
		if used == nil {
			continue
		}
		for _, w := range p.Work {
			*used = used.Plus(rollout.Used{Calls: w.Calls, Rows: w.Rows, Fuel: w.Fuel})
		}
	}
	for _, t := range f.deps.Scheduler.Trials() {
		if t.Plugin == trial {
			out.Again.Compared += t.Attempts
			out.Again.Placed += t.WasPlaced
			out.Again.Changed += t.Attempts - t.Same - t.Tied
			out.Again.Lost += t.Pending
			out.Again.Won += t.Placed
		}
	}
	return out
}

// tried is the result of a plugin in shadow, in all profiles together; empty for others.
func (f *Follower) tried(name string) string {
	var r shadow.Report
	any := false
	for _, t := range f.deps.Scheduler.Trials() {
		if t.Plugin == name {
			any = true
			r.Add(&t)
		}
	}
	if !any {
		return ""
	}
	return r.String()
}

// told is the text of an event about a change.
func told(h *v1alpha1.RolloutChange) string {
	text := fmt.Sprintf("%s decides for %d%% of the pods", h.Digest, h.Percent)
	if h.Percent == 0 {
		text = fmt.Sprintf("%s decides for no pod", h.Digest)
	}
	if h.Message != "" {
		text += "; " + h.Message
	}
	return plain.Line(text, maxMessage)
}
