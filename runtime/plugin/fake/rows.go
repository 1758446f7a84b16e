package fake

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// names lists nodes by name; an overlay row has a plus sign, and many rows are only counted.
func names(c *plugin.Cycle, rows []uint32) string {
	if len(rows) > 10 {
		return fmt.Sprintf("%d rows", len(rows))
	}
	var out []string
	for _, row := range rows {
		name := c.Snapshot.Name(row)
		if int(row) >= c.Snapshot.Capacity() {
			name += "+"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// Filter implements plugin.Filter. With fit=cpu it checks free CPU, with added=CODE it rejects
// rows for which AddPod was called, with needs=CODE rows for which it was not, with
// annotated=CODE rows with an annotated pod; otherwise it has an answer for each node, and with
// overlay=CODE another one for its overlay rows.
func (p *Plugin) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	if p.log != nil {
		p.log.Printf("  %s.filter %s", p.info.Name, names(c, rows))
	}
	plugin.PerNodeFilter(c, rows, out, p.judge)
}

func (p *Plugin) judge(c *plugin.Cycle, row uint32) *plugin.Status {
	if _, ok := p.at("fit", c.Pod.Name); ok {
		r := &c.Snapshot.Nodes.Resources[state.CPU]
		if r.Requested[row]+c.Pod.Requests.MilliCPU > r.Allocatable[row] {
			return plugin.NewStatus(abi.Unschedulable, "Insufficient cpu")
		}
	}
	if n, ok := c.State.Read(p.info.Name, "added").(added); ok {
		key := "added"
		if n == 0 {
			key = "needs"
		}
		if status := p.status(key, c.Pod.Name); status != nil {
			return status
		}
	}
	if status := p.status("annotated", c.Pod.Name); status != nil {
		for _, slot := range c.Snapshot.Nodes.Pods.Row(row) {
			if len(c.Snapshot.Pods.Pod[slot].Object.Annotations) > 0 {
				return status
			}
		}
	}
	if int(row) >= c.Snapshot.Capacity() {
		if _, ok := p.at("overlay", c.Snapshot.Name(row)); ok {
			return p.status("overlay", c.Snapshot.Name(row))
		}
	}
	return p.status("filter", c.Snapshot.Name(row))
}

// Score implements plugin.Score.
func (p *Plugin) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	if p.log != nil {
		p.log.Printf("  %s.score %s", p.info.Name, names(c, rows))
	}
	return plugin.PerNodeScore(c, rows, out, func(c *plugin.Cycle, row uint32) (int64, *plugin.Status) {
		a, ok := p.at("score", c.Snapshot.Name(row))
		if !ok {
			return 0, nil
		}
		if a.status {
			return 0, p.status("score", c.Snapshot.Name(row))
		}
		n, _ := strconv.ParseInt(a.text, 10, 64) // checked by Set
		return n, nil
	})
}

// normalizing is a plugin that also normalizes.
type normalizing struct{ *Plugin }

// Normalize implements plugin.Normalize.
func (p normalizing) Normalize(c *plugin.Cycle, _ []uint32, scores []int64) *plugin.Status {
	a, _ := p.at("normalize", c.Pod.Name)
	switch a.text {
	case "max":
		plugin.NormalizeMax(scores, false)
	case "reverse":
		plugin.NormalizeMax(scores, true)
	}
	return p.status("normalize", c.Pod.Name)
}

// extended is a plugin that also follows what-ifs.
type extended struct{ *Plugin }

// AddPod implements plugin.PreFilterExtensions.
func (p extended) AddPod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	p.log.Printf("  %s.addpod %s to %s", p.info.Name, pod.Name, names(c, []uint32{overlay}))
	n, _ := c.State.Read(p.info.Name, "added").(added)
	c.State.Write(p.info.Name, "added", n+1)
	return p.status("addpod", pod.Name)
}

// RemovePod implements plugin.PreFilterExtensions.
func (p extended) RemovePod(c *plugin.Cycle, overlay uint32, pod *state.Pod) *plugin.Status {
	p.log.Printf("  %s.removepod %s from %s", p.info.Name, pod.Name, names(c, []uint32{overlay}))
	return nil
}

var (
	_ plugin.PreEnqueue          = (*Plugin)(nil)
	_ plugin.QueueSort           = (*Plugin)(nil)
	_ plugin.PreFilter           = (*Plugin)(nil)
	_ plugin.Filter              = (*Plugin)(nil)
	_ plugin.PostFilter          = (*Plugin)(nil)
	_ plugin.PreScore            = (*Plugin)(nil)
	_ plugin.Score               = (*Plugin)(nil)
	_ plugin.Reserve             = (*Plugin)(nil)
	_ plugin.Permit              = (*Plugin)(nil)
	_ plugin.PreBind             = (*Plugin)(nil)
	_ plugin.Bind                = (*Plugin)(nil)
	_ plugin.PostBind            = (*Plugin)(nil)
	_ plugin.Normalize           = normalizing{}
	_ plugin.PreFilterExtensions = extended{}
)
