package bridge

import (
	"context"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Reserve lets the plugin record that the pod is assigned to the node. As at all points, the
// plugin requests changes to other pods through its handle.
func (p *Plugin) Reserve(l *plugin.Placement) (plugin.Directives, *plugin.Status) {
	if p.reserve == nil {
		return plugin.Directives{}, nil
	}
	return plugin.Directives{}, statusOf(p.reserve.Reserve(contextOf(l.Context), p.bridge.stateOf(l.State), l.Pod.Object, l.Node.Name))
}

// Unreserve lets the plugin undo what it recorded in Reserve.
func (p *Plugin) Unreserve(l *plugin.Placement) plugin.Directives {
	if p.reserve != nil {
		p.reserve.Unreserve(contextOf(l.Context), p.bridge.stateOf(l.State), l.Pod.Object, l.Node.Name)
	}
	return plugin.Directives{}
}

// Permit lets the plugin allow, reject or delay the binding.
func (p *Plugin) Permit(l *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	if p.permit == nil {
		return 0, plugin.Directives{}, nil
	}
	status, wait := p.permit.Permit(contextOf(l.Context), p.bridge.stateOf(l.State), l.Pod.Object, l.Node.Name)
	return wait, plugin.Directives{}, statusOf(status)
}

// PreBindPreFlight asks whether the plugin has something to do in PreBind. PreBind plugins
// always run sequentially, whatever the plugin answers about running in parallel.
func (p *Plugin) PreBindPreFlight(l *plugin.Placement) *plugin.Status {
	if p.preBind == nil {
		return plugin.NewStatus(abi.Skip)
	}
	cs := p.bridge.stateOf(l.State)
	_, status := p.preBind.PreBindPreFlight(contextOf(l.Context), cs, l.Pod.Object, l.Node.Name)
	if status.IsSkip() {
		cs.skipped(&cs.data.skipPreBind, p.info.Name)
	}
	return statusOf(status)
}

// PreBind prepares the binding. Meanwhile other plugins may cancel it through their handle.
func (p *Plugin) PreBind(l *plugin.Placement) (plugin.Directives, *plugin.Status) {
	if p.preBind == nil {
		return plugin.Directives{}, nil
	}
	ctx, cancel := context.WithCancelCause(contextOf(l.Context))
	defer cancel(nil)
	h := p.bridge.handle
	h.AddPodInPreBind(l.Pod.UID, cancel)
	defer h.RemovePodInPreBind(l.Pod.UID)
	return plugin.Directives{}, statusOf(p.preBind.PreBind(ctx, p.bridge.stateOf(l.State), l.Pod.Object, l.Node.Name))
}

// Bind binds the pod, unless the plugin skips it.
func (p *Plugin) Bind(l *plugin.Placement) (plugin.Directives, *plugin.Status) {
	if p.bind == nil {
		return plugin.Directives{}, plugin.NewStatus(abi.Skip)
	}
	return plugin.Directives{}, statusOf(p.bind.Bind(contextOf(l.Context), p.bridge.stateOf(l.State), l.Pod.Object, l.Node.Name))
}

// PostBind informs the plugin of the binding.
func (p *Plugin) PostBind(l *plugin.Placement) plugin.Directives {
	if p.postBind != nil {
		p.postBind.PostBind(contextOf(l.Context), p.bridge.stateOf(l.State), l.Pod.Object, l.Node.Name)
	}
	return plugin.Directives{}
}
