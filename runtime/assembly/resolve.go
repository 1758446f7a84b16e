package assembly

import (
	"errors"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/module"
)

var _ config.Module = (*Module)(nil)

// Args implements config.Module. A configuration file or a command line may have named the module.
func (m *Module) Args() *v1alpha1.WasmPluginArgs { return m.Reference.Args(m.Loaded) }

// moduleOf returns the module that args are of; nil for another plugin.
func moduleOf(args config.Args) *Module {
	m, _ := args.Module.(*Module)
	return m
}

// Resolve loads the modules that a configuration names. With ModulesConfig.Offline, unfetched says which would have
// to be fetched: their plugins are left out.
//
// # Errors
//
// Those of config.Scheduler.Resolve.
func (m *Modules) Resolve(s *config.Scheduler) (unfetched []string, err error) {
	err = m.resolve(s, func(ref module.Reference) (*Module, error) {
		loaded, err := m.Load(ref)
		if why := (*module.Unfetched)(nil); errors.As(err, &why) {
			unfetched = append(unfetched, why.Error())
			return nil, nil
		}
		return loaded, err
	})
	if err != nil || len(unfetched) == 0 {
		return nil, err
	}
	for i := range s.Profiles {
		fill(&s.Profiles[i])
	}
	return unfetched, nil
}

// fill gives a profile the default plugins of points that need one.
func fill(p *config.Profile) {
	for point, refs := range Default().Profiles[0].Points {
		settled := func(ref config.PluginRef) bool { return !ref.Late }
		if needed := point == "queueSort" || point == "bind"; needed && !slices.ContainsFunc(p.Points[point], settled) {
			p.Points[point] = append(p.Points[point], refs...)
		}
	}
}

// resolve is Resolve with the function that loads modules.
func (m *Modules) resolve(s *config.Scheduler, load func(module.Reference) (*Module, error)) error {
	return s.Resolve(func(plugin string, spec *v1alpha1.WasmPluginArgs) (config.Module, error) {
		ref, err := module.NewReference(plugin, &spec.Module, &spec.PluginSpec)
		if err != nil {
			return nil, oneLine(err)
		}
		loaded, err := load(ref)
		if err != nil {
			return nil, oneLine(err)
		}
		if loaded == nil {
			return nil, nil
		}
		return loaded, nil
	})
}

// oneLine joins the errors of a module in one line, to keep them with the field that names it.
func oneLine(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}
