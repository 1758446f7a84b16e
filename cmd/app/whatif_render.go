package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// whatIf prints the answer to a question: where pods would go, then why others would not.
func (p *printer) whatIf(a *whatif.Answer) {
	s := &a.Summary
	p.text("%d of %s would be placed on %s: %d at once, %d after preemption.", s.Fit+s.FitAfterPreemption, count(s.Pods, "pod"), count(a.Nodes, "node"), s.Fit, s.FitAfterPreemption)
	if s.NodesUsed > 0 && s.AddedNodesUsed > 0 {
		p.text("They would be on %s, %d of them added.", count(s.NodesUsed, "node"), s.AddedNodesUsed)
	}
	if s.Bound > 0 {
		p.text("%s would be bound to the node in spec.nodeName, without a scheduler; the node may refuse a pod that does not fit.",
			count(s.Bound, "pod"))
	}
	if s.DaemonPods > 0 {
		p.text("%s of DaemonSets came to the added nodes first.", count(s.DaemonPods, "pod"))
	}
	if s.Lost > 0 {
		p.text("%s of the removed nodes would be gone, because no controller creates them elsewhere.", count(s.Lost, "pod"))
	}
	if s.OfOtherSchedulers > 0 {
		p.text("%s of the removed nodes would be placed by other schedulers.", count(s.OfOtherSchedulers, "pod"))
	}
	if len(a.Idle) > 0 {
		p.text("Makes no pods: %s.", some(a.Idle, "; "))
	}
	if len(a.NotAsked) > 0 {
		p.text("HTTP extenders were not asked: %s.", strings.Join(a.NotAsked, ", "))
	}
	if len(a.Webhooks) > 0 {
		p.text("Admission webhooks may change or refuse pods, and were not asked: %s.", strings.Join(a.Webhooks, ", "))
	}
	if len(a.NotApplied) > 0 {
		p.text("As in the cluster, because the API server refuses to change the fields in brackets: %s.", strings.Join(a.NotApplied, "; "))
	}
	for _, x := range a.Preemptions {
		p.text("For %s, which is not part of the question, would be preempted: %s.", x.For, some(x.Victims, ", "))
	}
	if len(a.Unknown) > 0 {
		p.text("Not known: %s.", strings.Join(a.Unknown, "; "))
	}
	if len(a.NotKnown) > 0 {
		p.text("Could not be read, so they do not count: objects of kind %s.", strings.Join(a.NotKnown, ", "))
	}
	p.printf("\n")
	p.wouldBePlaced(slices.Concat(a.Pods, a.Displaced))
	var pending []sim.Pending
	for _, pod := range slices.Concat(a.Pods, a.Displaced) {
		if pod.Node == "" {
			pending = append(pending, sim.Pending{Namespace: pod.Namespace, Pod: pod.Name, Message: pod.Message})
		}
	}
	p.pending(pending)
	for _, e := range a.Explanations {
		p.change(e.Namespace+"/"+e.Name, e.Change, e.Tried)
	}
}

// change prints a change with which a pod would fit; nil for none of those that were tried.
func (p *printer) change(name string, c *report.Change, tried int) {
	if c == nil {
		p.text("%s: none of the %s that were tried lets it fit.", name, count(tried, "change"))
		return
	}
	how := ""
	switch c.Kind {
	case report.AddToleration:
		how = fmt.Sprintf("with a toleration of the taint %s=%s:%s", c.Toleration.Key, c.Toleration.Value, c.Toleration.Effect)
	case report.RemoveSelector:
		how = "without its requirement on the node label " + c.Selector.Key
	case report.LowerRequest:
		how = fmt.Sprintf("if container %s requested %s %s instead of %s", c.Request.Container, c.Request.To, c.Request.Resource, c.Request.From)
	case report.LabelNode:
		how = fmt.Sprintf("if node %s had the label %s=%s", c.Label.Node, c.Label.Key, c.Label.Value)
	}
	p.text("%s would fit on %s %s.", name, c.Node, how)
}

// likely is pods of one template that have the same fate.
type likely struct {
	first   *whatif.Pod
	pods    int
	nodes   []string
	victims []string
}

// wouldBePlaced prints the pods that would be placed, by template and code.
func (p *printer) wouldBePlaced(pods []whatif.Pod) {
	var groups []*likely
	by := make(map[string]*likely)
	for i := range pods {
		pod := &pods[i]
		if pod.Node == "" {
			continue
		}
		key := string(pod.Code) + " " + pod.Group()
		g := by[key]
		if g == nil {
			g = &likely{first: pod}
			by[key] = g
			groups = append(groups, g)
		}
		g.pods++
		if !slices.Contains(g.nodes, pod.Node) {
			g.nodes = append(g.nodes, pod.Node)
		}
		g.victims = append(g.victims, pod.Victims...)
	}
	if len(groups) == 0 {
		return
	}
	columns := []column{{head: "PODS", numbers: true}, {head: "FIRST", least: 16}, {head: "RESULT"}, {head: "NODES", least: 16}}
	preempts := slices.ContainsFunc(groups, func(g *likely) bool { return len(g.victims) > 0 })
	if preempts {
		columns = append(columns, column{head: "PREEMPTED", least: 16})
	}
	rows := make([]table.Row, 0, len(groups))
	for _, g := range groups {
		result := "fits"
		switch g.first.Code {
		case whatif.FitsAfterPreemption:
			result = "fits after preemption"
		case whatif.Bound:
			result = "bound"
		}
		name := g.first.Namespace + "/" + g.first.Name
		if g.first.From != "" {
			name += " of " + g.first.From
		}
		row := table.Row{g.pods, name, result, some(g.nodes, ", ")}
		if preempts {
			row = append(row, some(g.victims, ", "))
		}
		rows = append(rows, row)
	}
	p.table(columns, rows)
}
