package assembly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
)

// MaxAttached is how many attached modules can run. A profile has at most 256 plugins.
const MaxAttached = 200

// Attached is a plugin that runs in all profiles beside those of the configuration and of plugin
// folders, after them. Each stands alone: one that cannot be made keeps no other from running.
type Attached struct {
	// Name is the plugin's in profiles.
	Name string
	// Module is nil if there is none to run; NotReady says why, in a word.
	Module   *Module
	NotReady string
	// Holds is true if pods of Namespaces (none means all) are not placed while the plugin does
	// not run. They are gated, and those in the queue are rejected.
	Holds      bool
	Namespaces []string
	// Share is the part of these pods that the plugin acts on.
	Share state.Share
}

// same reports whether both would be the same plugin.
func (x *Attached) same(o *Attached) bool {
	switch {
	case x.Name != o.Name || x.NotReady != o.NotReady || x.Holds != o.Holds || x.Share != o.Share || !slices.Equal(x.Namespaces, o.Namespaces):
		return false
	case x.Module == nil || o.Module == nil:
		return x.Module == o.Module
	}
	return x.Module.same(o.Module) && x.Module.Reference.Use == o.Module.Reference.Use && x.Module.Reference.Weight == o.Module.Reference.Weight && slices.Equal(x.Module.Reference.Points, o.Module.Reference.Points)
}

// Refused is the value of NotReady of an attached plugin that was loaded and cannot run.
const Refused = "NotRunnable"

// attached are the attached plugins, and why some of them do not run.
type attached struct {
	all     []Attached
	refused map[string]error // by name
	// full is true if a plugin, one in shadow included, is left out for want of memory. It was tried again
	// at tried; closed is how many plugins were closed before.
	full   bool
	tried  time.Time
	closed int
}

// roomEvery is the least time between attempts to run plugins that found no memory, so that a tenant
// who changes a plugin over and over does not have all of them started each time.
const roomEvery = 10 * time.Second

// noMemory reports whether a plugin does not run only for want of memory.
func noMemory(err error) bool {
	var full *memory.Full
	return errors.As(err, &full)
}

// Attach replaces the attached plugins of the running scheduler, as Reload does the others.
// refused says by name why plugins cannot run. A plugin that was refused is tried again when it
// changes. If memory was what it lacked, it is also tried again once another plugin has been closed.
//
// # Errors
//
// No plugin could be changed.
func (a *Assembly) Attach(ctx context.Context, all []Attached) (refused map[string]error, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all = a.withFolder(all)
	if slices.EqualFunc(all, a.mu.attached.all, func(x, o Attached) bool { return x.same(&o) }) && !a.hasRoom() {
		return a.mu.attached.refused, nil
	}
	_, err = a.reload(ctx, a.mu.base, all)
	return a.mu.attached.refused, err
}

// folderName is the name of what holds all pods while the plugin folder has not been read. No plugin can have it.
const folderName = "--plugin-dir"

// withFolder returns attached plugins with one that does not run in place of the modules of a plugin folder that has not been read
// since the start: a filter of them must not be skipped. The caller holds a.mu.
func (a *Assembly) withFolder(all []Attached) []Attached {
	all = slices.DeleteFunc(slices.Clone(all), func(x Attached) bool { return x.Name == folderName })
	if a.mu.noFolder != "" {
		all = append(all, Attached{Name: folderName, NotReady: a.mu.noFolder, Holds: true})
	}
	return all
}

// hasRoom reports whether a plugin that memory was missing for might have it now. The caller holds
// a.mu.
func (a *Assembly) hasRoom() bool {
	x := &a.mu.attached
	return x.full && x.closed != a.closing.closed() && a.deps.Clock.Now().Sub(x.tried) >= roomEvery
}

// Refusals says by name why attached plugins do not run.
func (a *Assembly) Refusals() map[string]error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.attached.refused
}

// buildAttached makes the pipelines of a configuration with attached plugins. Those that cannot
// be made are left out, and hold their pods.
func (a *Assembly) buildAttached(ctx context.Context, s *config.Scheduler, all []Attached, old []*built) ([]*built, attached, error) {
	next := attached{all: slices.Clone(all), refused: map[string]error{}, tried: a.mu.attached.tried, closed: a.mu.attached.closed}
	room := a.hasRoom()
	if room {
		next.tried = a.deps.Clock.Now()
	}
	if room || !a.mu.attached.full {
		next.closed = a.closing.closed()
	}
	modules := 0
	for i := range next.all {
		x := &next.all[i]
		if x.Module == nil || x.inShadow() {
			continue
		}
		if modules++; modules > MaxAttached {
			next.refused[x.Name] = fmt.Errorf("the scheduler runs at most %d attached plugins", MaxAttached)
		}
		before := slices.IndexFunc(a.mu.attached.all, func(o Attached) bool { return o.same(x) })
		if err := a.mu.attached.refused[x.Name]; before >= 0 && err != nil && (!room || !noMemory(err)) {
			next.refused[x.Name] = err
		}
	}
	out, err := a.buildWith(ctx, s, &next, old)
	if err == nil || modules == len(next.refused) {
		return out, next, err
	}
	// Those that run need no trial, and one of the others is at fault.
	trial := attached{refused: next.refused}
	var fresh []Attached
	for _, x := range next.all {
		switch before := slices.IndexFunc(a.mu.attached.all, func(o Attached) bool { return o.same(&x) }); {
		case x.Module == nil || x.inShadow() || next.refused[x.Name] != nil:
		case before >= 0 && len(old) > 0 && a.mu.attached.refused[x.Name] == nil:
			trial.all = append(trial.all, x)
		default:
			fresh = append(fresh, x)
		}
	}
	last, broken := a.buildWith(ctx, s, &trial, old)
	if broken != nil {
		return nil, attached{}, err
	}
	defer func(tried []*built) { a.releaseAll(tried) }(last)
	for _, x := range fresh {
		trial.all = append(trial.all, x)
		tried, err := a.buildWith(ctx, s, &trial, last)
		if err != nil {
			trial.all = trial.all[:len(trial.all)-1]
			next.refused[x.Name] = err
			continue
		}
		defer a.releaseAll(tried) // the next ones share its plugins
		last = tried
	}
	out, err = a.buildWith(ctx, s, &next, last)
	return out, next, err
}

func (a *Assembly) releaseAll(all []*built) {
	for _, b := range all {
		a.closing.release(b)
	}
}

// buildWith makes the pipelines of a configuration with the attached plugins that are not
// refused.
func (a *Assembly) buildWith(ctx context.Context, s *config.Scheduler, with *attached, old []*built) ([]*built, error) {
	if len(with.all) == 0 {
		return a.build(ctx, s, old)
	}
	s = clone(s)
	var held []held
	for i := range with.all {
		x := &with.all[i]
		if x.inShadow() && x.Module.trial != x.Name {
			continue // it runs in its own trial only
		}
		if x.Module != nil && with.refused[x.Name] == nil {
			if err := x.Module.Enable(s); err != nil {
				return nil, err
			}
			continue
		}
		if x.Holds {
			held = append(held, x.held())
		}
	}
	if len(held) > 0 {
		for i := range s.Profiles {
			first(&s.Profiles[i], HoldName, held)
		}
	}
	return a.build(ctx, s, old)
}

// held says which pods wait for the plugin.
func (x *Attached) held() held {
	why := x.NotReady
	if x.Module != nil {
		why = Refused
	}
	return held{Name: x.Name, Why: why, Namespaces: x.Namespaces, Share: x.Share}
}
