package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// source is where a profile is in its file, for what is found out about it later.
type source struct {
	file   string
	lines  *lines
	path   *field.Path
	listed map[listing]*field.Path // where the file lists a plugin at a point
}

type listing struct{ point, plugin string }

// report returns a report about the profile, and the path of its plugins.
func (p *Profile) report() (*report, *field.Path) {
	if p.source == nil {
		return newReport("", nil), field.NewPath("plugins")
	}
	return newReport(p.source.file, p.source.lines), p.source.path.Child("plugins")
}

// Resolve gives each plugin with a Spec the module that load returns for it, and settles its points. A
// plugin whose module is nil, without an error, is left out; then its profile may be without queueSort or bind plugin.
//
// # Errors
//
// Those of load, each with its place in the file; those of Settle; profiles sort the queue in different ways.
func (s *Scheduler) Resolve(load func(plugin string, spec *v1alpha1.WasmPluginArgs) (Module, error)) error {
	var errs []error
	lacks := make([]bool, len(s.Profiles))
	for i := range s.Profiles {
		p := &s.Profiles[i]
		r, _ := p.report()
		for _, name := range slices.Sorted(maps.Keys(p.Args)) {
			args := p.Args[name]
			if args.Spec == nil || args.Module != nil {
				continue
			}
			var err error
			if args.Module, err = load(name, args.Spec); err != nil {
				r.addAt(args.Path, err.Error(), "")
				continue
			}
			p.Args[name] = args
			if args.Module == nil {
				p.Remove(name)
				lacks[i] = true
			}
		}
		errs = append(errs, r.err())
	}
	if err := errors.Join(errs...); err != nil || s.broken {
		return err
	}
	for i := range s.Profiles {
		p := &s.Profiles[i]
		errs = append(errs, p.settle(!lacks[i], func(plugin string) ([]string, bool) {
			if m := p.Args[plugin].Module; m != nil {
				return m.Points(), true
			}
			return nil, false
		}))
		for name, args := range p.Args {
			if args.Module != nil && !p.Lists(name) {
				delete(p.Args, name) // it is disabled at all its points
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r, _ := s.Profiles[0].report()
	checkOneQueue(r, field.NewPath("profiles"), s.Profiles)
	return r.err()
}

// Lists reports whether the profile has a plugin at some point.
func (p *Profile) Lists(plugin string) bool {
	for _, refs := range p.Points {
		if slices.ContainsFunc(refs, func(ref PluginRef) bool { return ref.Name == plugin }) {
			return true
		}
	}
	return false
}

// Remove takes a plugin out of the profile.
func (p *Profile) Remove(plugin string) {
	for point, refs := range p.Points {
		left := slices.DeleteFunc(slices.Clone(refs), func(ref PluginRef) bool { return ref.Name == plugin })
		if p.Points[point] = left; len(left) == 0 {
			delete(p.Points, point)
		}
	}
	delete(p.Args, plugin)
}

// Settle removes plugins that the catalog does not know from points that they do not implement, and then makes
// the checks that had to wait for this. points returns the points that such a plugin
// implements, and false for other plugins.
//
// # Errors
//
// The profile lists such a plugin at a point that it does not implement, has no bind plugin, or
// does not have exactly one queueSort plugin.
func (p *Profile) Settle(points func(plugin string) ([]string, bool)) error {
	return p.settle(true, points)
}

// settle is Settle; a profile that is not whole may lack plugins.
func (p *Profile) settle(whole bool, points func(plugin string) ([]string, bool)) error {
	r, path := p.report()
	for _, set := range pointSets(&configv1.Plugins{}) {
		var left []PluginRef
		for _, ref := range p.Points[set.point] {
			implemented, late := points(ref.Name)
			switch {
			case !late:
			case slices.Contains(implemented, set.point):
				ref.Late = false
			case ref.Late:
				continue
			default:
				at := path.Child(set.point)
				if p.source != nil && p.source.listed[listing{set.point, ref.Name}] != nil {
					at = p.source.listed[listing{set.point, ref.Name}].Child("name")
				}
				r.add(at, fmt.Sprintf("plugin %s does not implement %s", quote(ref.Name), set.point), "it implements: "+list(implemented))
			}
			left = append(left, ref)
		}
		if p.Points[set.point] = left; len(left) == 0 {
			delete(p.Points, set.point)
		}
	}
	if len(r.errs) == 0 {
		checkPoints(r, path, p.Points, whole)
	}
	return r.err()
}

// unsettled reports whether a plugin is at a point that it may not implement.
func unsettled(refs []PluginRef) bool {
	return slices.ContainsFunc(refs, func(ref PluginRef) bool { return ref.Late })
}
