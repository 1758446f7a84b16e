package bridge

import (
	"slices"

	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// PreFilter calls the plugin with all nodes. Node names that are not in the snapshot are
// ignored.
func (p *Plugin) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	if p.preFilter == nil {
		return nil, nil
	}
	ctx, cs := p.begin(c)
	result, status := p.preFilter.PreFilter(ctx, cs, c.Pod.Object, p.bridge.cluster.infos)
	if status.IsSkip() {
		cs.skipped(&cs.data.skipFilter, p.info.Name)
	}
	if !status.IsSuccess() || result.AllNodes() {
		return nil, statusOf(status)
	}
	if len(result.NodeNames) == 0 {
		// kube-scheduler's runtime stops here, with this message.
		return []uint32{}, plugin.NewStatus(abi.UnschedulableAndUnresolvable, "node(s) didn't satisfy plugin "+p.info.Name)
	}
	rows := make([]uint32, 0, len(result.NodeNames))
	for name := range result.NodeNames {
		if row, ok := c.Snapshot.Row(name); ok {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return rows, nil
}

// AddPod informs the plugin of a pod added to a hypothetical node.
func (p *Plugin) AddPod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	return p.tell(c, overlay, pod, framework.PreFilterExtensions.AddPod)
}

// RemovePod informs the plugin of a pod removed from a hypothetical node.
func (p *Plugin) RemovePod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	return p.tell(c, overlay, pod, framework.PreFilterExtensions.RemovePod)
}

// Filter calls the plugin for each row.
func (p *Plugin) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	if p.filter == nil {
		return
	}
	ctx, cs := p.begin(c)
	nodes := p.bridge.nodes(rows)
	statuses := make([]*framework.Status, len(rows))
	p.bridge.until(ctx, len(rows), func(i int) {
		statuses[i] = p.filter.Filter(ctx, cs, c.Pod.Object, nodes[i])
	})
	at := 0
	plugin.PerNodeFilter(c, rows, out, func(*plugin.Cycle, uint32) *plugin.Status {
		at++
		return statusOf(statuses[at-1])
	})
}

// PostFilter lets the plugin make room for the pod. What it tries on hypothetical nodes through
// its handle runs all plugins of the profile.
func (p *Plugin) PostFilter(c *plugin.Cycle, d *plugin.Diagnosis) (plugin.PostFilterResult, *plugin.Status) {
	if p.postFilter == nil {
		return plugin.PostFilterResult{}, plugin.NewStatus(abi.Unschedulable)
	}
	ctx, cs := p.begin(c)
	p.bridge.handle.open(&whatIf{cycle: c, origin: cs, maker: d.WhatIf})
	defer p.bridge.handle.close()
	result, status := p.postFilter.PostFilter(ctx, cs, c.Pod.Object, diagnosis{d.Codes, p.bridge.handle.lister})
	var out plugin.PostFilterResult
	if result != nil && result.Mode() == framework.ModeOverride {
		out = plugin.PostFilterResult{Override: true, NominatedNode: result.NominatedNodeName}
	}
	return out, statusOf(status)
}

// PreScore calls the plugin with the feasible nodes.
func (p *Plugin) PreScore(c *plugin.Cycle, rows []uint32) *plugin.Status {
	if p.preScore == nil {
		return nil
	}
	ctx, cs := p.begin(c)
	status := p.preScore.PreScore(ctx, cs, c.Pod.Object, p.bridge.nodes(rows))
	if status.IsSkip() {
		cs.skipped(&cs.data.skipScore, p.info.Name)
	}
	return statusOf(status)
}

// Score scores each row. If rows fail, the error of the first one fails the call.
func (p *Plugin) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	if p.score == nil {
		return nil
	}
	ctx, cs := p.begin(c)
	nodes := p.bridge.nodes(rows)
	statuses := make([]*framework.Status, len(rows))
	p.bridge.until(ctx, len(rows), func(i int) {
		out[i], statuses[i] = p.score.Score(ctx, cs, c.Pod.Object, nodes[i])
	})
	for _, status := range statuses {
		if !status.IsSuccess() {
			return statusOf(status)
		}
	}
	return nil
}

// Normalize calls the plugin's NormalizeScore, if it has one.
func (p *Plugin) Normalize(c *plugin.Cycle, rows []uint32, scores []int64) *plugin.Status {
	if p.score == nil || p.score.ScoreExtensions() == nil {
		return nil
	}
	ctx, cs := p.begin(c)
	list := make(framework.NodeScoreList, len(rows))
	for i, row := range rows {
		list[i] = framework.NodeScore{Name: c.Snapshot.Name(row), Score: scores[i]}
	}
	status := p.score.ScoreExtensions().NormalizeScore(ctx, cs, c.Pod.Object, list)
	for i := range list {
		scores[i] = list[i].Score
	}
	return statusOf(status)
}

// diagnosis implements framework.NodeToStatusReader. The reasons of verdicts are left out.
type diagnosis struct {
	codes []abi.Code
	nodes lister
}

var _ framework.NodeToStatusReader = diagnosis{}

// Get implements framework.NodeToStatusReader.
func (d diagnosis) Get(name string) *framework.Status {
	row, ok := d.nodes.snapshot.Row(name)
	if !ok {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable)
	}
	if d.codes[row] == abi.Success {
		return nil
	}
	return framework.NewStatus(framework.Code(d.codes[row]))
}

// NodesForStatusCode implements framework.NodeToStatusReader.
func (d diagnosis) NodesForStatusCode(nodes framework.NodeInfoLister, code framework.Code) ([]framework.NodeInfo, error) {
	var out []framework.NodeInfo
	for row, c := range d.codes {
		if framework.Code(c) != code {
			continue
		}
		node, err := nodes.Get(d.nodes.snapshot.Name(uint32(row)))
		if err != nil {
			continue // the plugin was not given this node
		}
		out = append(out, node)
	}
	return out, nil
}
