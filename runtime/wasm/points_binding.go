package wasm

import (
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

var (
	_ plugin.Reserve    = (*Plugin)(nil)
	_ plugin.Permit     = (*Plugin)(nil)
	_ plugin.PreBind    = (*Plugin)(nil)
	_ plugin.Bind       = (*Plugin)(nil)
	_ plugin.PostBind   = (*Plugin)(nil)
	_ plugin.NodeReader = (*Plugin)(nil)
	_ plugin.Patcher    = (*Plugin)(nil)
)

// ReadsNodeInfo implements plugin.NodeReader.
func (p *Plugin) ReadsNodeInfo() bool { return p.readsNode }

// placed makes a call about a pod and its node, unless the plugin lacks the point or is not
// for the pod. A status that is not nil is the answer, or comes from a fault.
func (p *Plugin) placed(pl *plugin.Placement, point abi.Point, binding bool) (reply, *plugin.Status) {
	if !p.declared[point] || !p.applies(pl.Pod) {
		return reply{}, nil
	}
	answer, f := p.aux.call(pl.Context, &auxCall{point: point, placement: pl}, binding)
	if f != nil {
		if f.Kind.OfGuest() {
			pl.Faults++
		}
		return reply{}, p.faults.status(f, pl.Pod)
	}
	if point == abi.Reserve || point == abi.Permit {
		pl.State.RetryAfter(p.info.Name, abi.RetryAfter(answer.retry))
	}
	return answer, answer.status
}

// Reserve implements plugin.Reserve.
func (p *Plugin) Reserve(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	answer, status := p.placed(pl, abi.Reserve, false)
	d := asDirectives(answer.directives)
	if f := p.keepPatch(pl, d.Patch); f != nil {
		return plugin.Directives{}, p.faults.status(f, pl.Pod)
	}
	return d, status
}

// Unreserve implements plugin.Reserve.
func (p *Plugin) Unreserve(pl *plugin.Placement) plugin.Directives {
	answer, _ := p.placed(pl, abi.Unreserve, false)
	return asDirectives(answer.directives)
}

// Permit implements plugin.Permit.
func (p *Plugin) Permit(pl *plugin.Placement) (time.Duration, plugin.Directives, *plugin.Status) {
	answer, status := p.placed(pl, abi.Permit, false)
	const most = uint64(15 * time.Minute / time.Millisecond) // ABI-5.18
	return time.Duration(min(answer.wait, most)) * time.Millisecond, asDirectives(answer.directives), status
}

// PreBindPreFlight implements plugin.PreBind.
func (p *Plugin) PreBindPreFlight(pl *plugin.Placement) *plugin.Status {
	if !p.declared[abi.PreBind] || !p.applies(pl.Pod) {
		return plugin.NewStatus(abi.Skip)
	}
	return nil
}

// PreBind implements plugin.PreBind.
func (p *Plugin) PreBind(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	answer, status := p.placed(pl, abi.PreBind, true)
	d := asDirectives(answer.directives)
	if f := p.addPatch(pl, abi.PreBind, d.Patch); f != nil {
		return plugin.Directives{}, p.faults.status(f, pl.Pod)
	}
	return d, status
}

// Bind implements plugin.Bind. After an ignored fault the next plugin binds the pod.
func (p *Plugin) Bind(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	answer, status := p.placed(pl, abi.Bind, true)
	if status != nil || !bindsPod(answer.directives) {
		if status == nil {
			status = plugin.NewStatus(abi.Skip)
		}
		return plugin.Directives{}, status
	}
	d := asDirectives(answer.directives)
	if f := p.addPatch(pl, abi.Bind, d.Patch); f != nil {
		if status = p.faults.status(f, pl.Pod); status == nil {
			status = plugin.NewStatus(abi.Skip)
		}
		return plugin.Directives{}, status
	}
	binding := objects.Binding{Pod: pl.Pod, Node: pl.Node.Name, Patch: pl.Patch.Merge(d.Patch), Chosen: pl.Node, Sent: pl.Sent}
	err := p.deps.Binder.Bind(pl.Context, binding)
	if err != nil {
		return plugin.Directives{}, plugin.Fail(err)
	}
	return d, nil
}

// PostBind implements plugin.PostBind.
func (p *Plugin) PostBind(pl *plugin.Placement) plugin.Directives {
	answer, _ := p.placed(pl, abi.PostBind, true)
	return asDirectives(answer.directives)
}
