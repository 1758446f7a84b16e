package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
)

// Factory makes a plugin from its typed arguments, which are nil for a plugin without
// arguments.
type Factory func(args any) (Plugin, error)

// Registry has the plugins that profiles can name.
type Registry map[string]Factory

// New makes the plugin with a name.
func (r Registry) New(name string, args any) (Plugin, error) {
	factory, ok := r[name]
	if !ok {
		return nil, fmt.Errorf("plugin %q is not registered; registered are %s", name, strings.Join(r.Names(), ", "))
	}
	p, err := factory(args)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", name, err)
	}
	return p, nil
}

// Names returns the registered names, sorted.
func (r Registry) Names() []string {
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Points returns the extension points that a plugin implements. A plugin whose type does not
// show its points returns them itself.
func Points(p Plugin) []abi.Point {
	if own, ok := p.(interface{ Points() []abi.Point }); ok {
		return own.Points()
	}
	var out []abi.Point
	add := func(ok bool, point abi.Point) {
		if ok {
			out = append(out, point)
		}
	}
	_, ok := p.(PreEnqueue)
	add(ok, abi.PreEnqueue)
	_, ok = p.(QueueSort)
	add(ok, abi.QueueSort)
	_, ok = p.(PreFilter)
	add(ok, abi.PreFilter)
	_, ok = p.(Filter)
	add(ok, abi.Filter)
	_, ok = p.(PostFilter)
	add(ok, abi.PostFilter)
	_, ok = p.(PreScore)
	add(ok, abi.PreScore)
	_, ok = p.(Score)
	add(ok, abi.Score)
	_, ok = p.(Reserve)
	add(ok, abi.Reserve)
	_, ok = p.(Permit)
	add(ok, abi.Permit)
	_, ok = p.(PreBind)
	add(ok, abi.PreBind)
	_, ok = p.(Bind)
	add(ok, abi.Bind)
	_, ok = p.(PostBind)
	add(ok, abi.PostBind)
	return out
}
