package assembly

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// Status is the state of a scheduler's plugins.
type Status struct {
	// Plugins are the modules in profiles, sorted by profile and name.
	Plugins []PluginStatus
	// CompiledIn are the plugins of Config in profiles, sorted likewise.
	CompiledIn []CompiledIn
	// Reloads counts the calls of Reload that changed something, Refused those that failed. Err
	// is the error of the last call and At its time; Err is nil if it succeeded.
	Reloads, Refused int
	Err              error
	At               time.Time
}

// PluginStatus is a module in a profile.
type PluginStatus struct {
	Profile string
	wasm.Status
	// Image is the digest of the image's manifest, and Signers are the names of the
	// policy's keys that signed the module; empty without them.
	Image   string
	Signers []string
	// NotKept says why answers are not kept for equivalent pods; empty if they are.
	NotKept string
	// Shadow is true for a plugin in shadow; Profile is the one that it is tried in.
	Shadow bool
}

// CompiledIn is a plugin of Config in a profile, with its points as in configuration files.
type CompiledIn struct {
	Profile, Name string
	Points        []string
}

// Status returns the current state. It may be called from any goroutine, also while plugins are
// being made.
func (a *Assembly) Status() Status {
	a.now.Lock()
	defer a.now.Unlock()
	s := a.now.status
	for _, b := range a.now.built {
		for _, name := range slices.Sorted(maps.Keys(b.plugins)) {
			if line, ok := a.status(b, name); ok {
				s.Plugins = append(s.Plugins, line)
			}
			if points, ok := a.compiledIn(b)(name); ok {
				s.CompiledIn = append(s.CompiledIn, CompiledIn{Profile: b.profile.SchedulerName, Name: name, Points: points})
			}
		}
	}
	for i := range a.now.trials {
		if line, ok := a.status(a.now.trials[i].built, a.now.trials[i].name); ok {
			line.Shadow = true
			s.Plugins = append(s.Plugins, line)
		}
	}
	slices.SortStableFunc(s.CompiledIn, func(x, y CompiledIn) int { return cmp.Compare(x.Profile, y.Profile) })
	slices.SortStableFunc(s.Plugins, func(x, y PluginStatus) int { return cmp.Compare(x.Profile, y.Profile) })
	return s
}

// debtAge is how old a debt is at least that Debts tells of: most are paid soon.
const debtAge = 30 * time.Second

// HeldBack says by namespace for which pod others made room that is not bound yet, and until when others make no more, and how many
// pods wait for their turn because plugins caused too many attempts. It asks the loop; if that does not answer, the result is empty.
func (a *Assembly) HeldBack(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var open []scheduler.Debt
	var waiting map[string]string
	if err := a.Scheduler.Do(ctx, func() { open, _ = a.Scheduler.Debts(); waiting = a.Scheduler.OverBudget() }); err != nil {
		return nil
	}
	out := make(map[string]string)
	for i := range open {
		if d := &open[i]; d.Namespace != "" && a.deps.Clock.Now().Sub(d.Since) >= debtAge {
			out[d.Namespace] = fmt.Sprintf("pods of other namespaces made room for pod %s, and make no more until it is bound, or until %s",
				d.For, d.Until.UTC().Format(time.RFC3339))
		}
	}
	for namespace, text := range waiting {
		if before := out[namespace]; before != "" {
			text = before + "; " + text
		}
		out[namespace] = text
	}
	return out
}

// status returns the state of a plugin that is a module.
func (a *Assembly) status(b *built, name string) (line PluginStatus, ok bool) {
	p, ok := b.plugins[name].plugin.(*wasm.Plugin)
	if !ok {
		return line, false
	}
	line = PluginStatus{Profile: b.profile.SchedulerName, Status: p.Status()}
	if m, ok := b.plugins[name].args.(*Module); ok {
		line.Image, line.Signers = m.Loaded.Image, m.Loaded.Signers
	}
	line.NotKept = a.notKept(p.Info())
	return line, true
}

// notKept says why answers of a plugin are not kept; empty if they are.
func (a *Assembly) notKept(info *plugin.Info) string {
	if a.config.Reuse.Off() {
		return "no answers are kept (--reuse-memory 0)"
	}
	why, _ := info.Keyed()
	return cmp.Or(why, a.now.demoted[info])
}

// reloaded records the result of a Reload: the plugins that changed, or an error.
func (a *Assembly) reloaded(next []*built, changed []string, err error) {
	a.now.Lock()
	defer a.now.Unlock()
	a.now.status.Err, a.now.status.At = err, a.deps.Clock.Now()
	a.now.trials = a.mu.trials
	switch {
	case err != nil:
		a.now.status.Refused++
		return
	case len(changed) > 0:
		a.now.status.Reloads++
	}
	a.now.built = next
	maps.DeleteFunc(a.now.demoted, func(info *plugin.Info, _ string) bool {
		return !slices.ContainsFunc(next, func(b *built) bool { return b.has(info) })
	})
}
