package wasm

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

var (
	_ plugin.PreFilterExtensions = (*Plugin)(nil)
	_ plugin.PostFilter          = (*Plugin)(nil)
)

// AddPod implements plugin.PreFilterExtensions.
func (p *Plugin) AddPod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	return p.changed(c, abi.AddPod, overlay, pod)
}

// RemovePod implements plugin.PreFilterExtensions.
func (p *Plugin) RemovePod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	return p.changed(c, abi.RemovePod, overlay, pod)
}

// changed tells the guest of a pod that was added to an overlay row or removed from it. Pods
// that the plugin may not see are left out.
func (p *Plugin) changed(c *plugin.Cycle, point abi.Point, overlay uint32, pod *state.Pod) *plugin.Status {
	if !p.declared[point] || !p.applies(c.Pod) || !p.applies(pod) {
		return nil
	}
	answer, f := p.cycles.once(c, &request{point: point, rows: []uint32{overlay}, pods: []*state.Pod{pod}, stateful: true})
	if f != nil {
		return p.faults.status(f)
	}
	return answer.status
}

// PostFilter implements plugin.PostFilter.
func (p *Plugin) PostFilter(c *plugin.Cycle, d *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	var result plugin.PostFilterResult
	if !p.declared[abi.PostFilter] || !p.applies(c.Pod) || len(d.Codes) == 0 {
		return result, plugin.NewStatus(abi.Unschedulable)
	}
	rows := make([]uint32, len(d.Codes))
	for i := range rows {
		rows[i] = uint32(i)
	}
	v := plugin.Verdicts{Codes: slices.Clone(d.Codes)}
	answer, f := p.cycles.once(c, &request{point: abi.PostFilter, rows: rows, verdicts: &v, stateful: true})
	if f != nil {
		if status := p.faults.status(f); status != nil {
			return result, status
		}
		return result, plugin.NewStatus(abi.Unschedulable) // ignored: another plugin may help
	}
	asked := asDirectives(answer.directives)
	result.Allow, result.Reject = asked.Allow, asked.Reject
	for i := range answer.directives {
		if answer.directives[i].Kind == abi.Nominate && answer.code == abi.Success {
			result.Override, result.NominatedNode = true, answer.directives[i].First
		}
	}
	return result, answer.status
}
