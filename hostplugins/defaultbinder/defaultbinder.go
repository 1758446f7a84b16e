// Package defaultbinder binds pods through the binder it is given: the API server's
// pods/binding subresource, or the simulator's.
package defaultbinder

import (
	"errors"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

// Name is the plugin's name in a profile.
const Name = "DefaultBinder"

// DefaultBinder is the plugin.
type DefaultBinder struct {
	info   plugin.Info
	binder objects.Binder
}

var _ plugin.Bind = (*DefaultBinder)(nil)

// New returns the plugin. binder is required.
func New(binder objects.Binder) (*DefaultBinder, error) {
	if binder == nil {
		return nil, errors.New("a Binder is required")
	}
	return &DefaultBinder{info: plugin.Info{Name: Name}, binder: binder}, nil
}

// Info describes the plugin.
func (b *DefaultBinder) Info() *plugin.Info { return &b.info }

// Bind binds the pod to its node, along with the patch that plugins made to it. It never skips.
func (b *DefaultBinder) Bind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	binding := objects.Binding{Pod: p.Pod, Node: p.Node.Name, Patch: p.Patch, Chosen: p.Node, Sent: p.Sent}
	return plugin.Directives{}, plugin.Fail(b.binder.Bind(p.Context, binding))
}
