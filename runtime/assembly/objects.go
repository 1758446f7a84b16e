package assembly

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/config"
)

// ObjectViews returns what the plugins that run read of objects of the API, each view once, those in shadow included.
func (a *Assembly) ObjectViews() []wire.ObjectView {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.objectViews()
}

func (a *Assembly) objectViews() (out []wire.ObjectView) {
	all := slices.Clone(a.mu.built)
	for i := range a.mu.trials {
		all = append(all, a.mu.trials[i].built)
	}
	return viewsOf(all)
}

// viewsOf returns what plugins read of objects, each view once.
func viewsOf(all []*built) (out []wire.ObjectView) {
	for _, b := range all {
		if b == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(b.plugins)) {
			if m, ok := b.plugins[name].args.(*Module); ok {
				out = addViews(out, m)
			}
		}
	}
	return out
}

// Views returns what the modules of a configuration, and attached ones, read of objects, each view once.
func Views(s *config.Scheduler, attached []Attached) (out []wire.ObjectView) {
	for i := range s.Profiles {
		for _, name := range slices.Sorted(maps.Keys(s.Profiles[i].Args)) {
			if m := moduleOf(s.Profiles[i].Args[name]); m != nil {
				out = addViews(out, m)
			}
		}
	}
	for i := range attached {
		if m := attached[i].Module; m != nil {
			out = addViews(out, m)
		}
	}
	return out
}

func addViews(out []wire.ObjectView, m *Module) []wire.ObjectView {
	if m.Loaded == nil {
		return out
	}
	for _, view := range m.Loaded.Manifest.ObjectViews() {
		if !slices.ContainsFunc(out, func(o wire.ObjectView) bool { return o.Key() == view.Key() }) {
			out = append(out, view)
		}
	}
	return out
}

// follow tells who follows objects what the plugins read now. The caller holds a.mu.
func (a *Assembly) follow() {
	if a.deps.Follow != nil {
		a.deps.Follow(a.objectViews())
	}
}
