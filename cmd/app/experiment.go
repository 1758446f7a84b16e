package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/experiment"
	records "github.com/berth-scheduler/berth/runtime/record"
)

// changes reports whether berth replay is to try another configuration or plugin.
func (o *replayOptions) changes() bool { return o.config != "" || len(o.modules.plugins) > 0 }

// checkChange refuses flags that do not go together.
func (o *replayOptions) checkChange() error {
	switch {
	case o.output != "text" && o.output != "json":
		return fmt.Errorf("--output: %q is neither text nor json", o.output)
	case o.changes() && (o.pod != "" || o.text):
		return errors.New("--config and --plugin compare whole recordings: leave --pod and --text out")
	case !o.changes() && (o.report != "" || o.output == "json"):
		return errors.New("--output and --report are about a change: name it with --config or --plugin")
	}
	return nil
}

// experiment tries another configuration or plugin.
func (o *replayOptions) experiment(ctx context.Context, stdout, stderr io.Writer, reader *records.Reader, c experiment.Config) error {
	c.Change = func(recorded assembly.Config) (assembly.Config, error) {
		return recorded, o.modules.enable(c.Modules, recorded.Scheduler)
	}
	var bad error // of --config
	if o.config != "" {
		modules, err := o.modules.open(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = modules.Close(context.WithoutCancel(ctx)) }() // the process ends anyway
		var s *config.Scheduler                                          // with the feature gates of the recording, which stay
		c.Change = func(recorded assembly.Config) (assembly.Config, error) {
			if s == nil {
				var warnings []config.Warning
				if s, warnings, bad = o.modules.load(ctx, "config", o.config, assembly.Catalog().WithGates(recorded.Gates), modules); bad != nil {
					return recorded, bad
				}
				warn(plainly(stderr), warnings)
			}
			next, err := recorded.WithFolder(s)
			recorded.Scheduler, recorded.Modules = next, modules
			return recorded, err
		}
	}
	var page *os.File
	if o.report != "" { // an earlier report stays until there is another one
		var err error
		if page, err = os.OpenFile(o.report, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
			return fmt.Errorf("--report: %w (name a file that can be written)", err)
		}
		defer page.Close() //nolint:errcheck // what was written is closed below
	}
	bar := newProgress(stderr, -1)
	c.Progress = bar.set
	r, err := experiment.Run(ctx, reader, c)
	bar.close()
	switch {
	case err != nil && ctx.Err() != nil:
		return &failure{fmt.Errorf("stopped: %w", err)}
	case bad != nil:
		return bad
	case err != nil:
		return fmt.Errorf("%s: %w", o.file, err)
	}
	if page != nil {
		if info, err := page.Stat(); err == nil && info.Mode().IsRegular() {
			if err := page.Truncate(0); err != nil {
				return &failure{fmt.Errorf("write the report: %w", err)}
			}
		}
		if err := errors.Join(r.WriteHTML(page), page.Close()); err != nil {
			return &failure{fmt.Errorf("write the report: %w", err)}
		}
	}
	if o.output == "json" {
		e := json.NewEncoder(stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return writing(e.Encode(r))
	}
	p := &printer{w: stdout, width: width(stdout)}
	p.experiment(r)
	return p.err
}

// experiment prints what moved.
func (p *printer) experiment(r *experiment.Report) {
	p.text("%s", r.Reproduced())
	if moved := r.Moved(); moved == "" {
		p.text("None of %s changed.", count(r.Recording.Pods, "pod"))
	} else {
		p.text("%d of %s changed: %s.", len(r.Moves), count(r.Recording.Pods, "pod"), moved)
	}
	p.printf("\n")
	p.sides(&r.Before, &r.After)
	p.groups("CONTROLLER", r.Groups.Controllers)
	p.groups("NAMESPACE", r.Groups.Namespaces)
	p.groups("NODE POOL", r.Groups.Pools)
	p.groups("REASON", r.Groups.Reasons)
	p.moves(r.Moves)
	for _, note := range r.Notes {
		p.text("Note: %s", note)
	}
}

// sides prints the totals of both sides.
func (p *printer) sides(before, after *experiment.Totals) {
	columns := []column{{head: "TOTAL"}, {head: "BEFORE", numbers: true}, {head: "AFTER", numbers: true}}
	rows := []table.Row{
		{"placed", before.Placed, after.Placed},
		{"pending", before.Pending, after.Pending},
		{"preempted", before.Evicted, after.Evicted},
		{"attempts", before.Attempts, after.Attempts},
		{"mean wait", seconds(before.WaitSeconds), seconds(after.WaitSeconds)},
	}
	share := func(v float64) string { return percent(v, 100) }
	number := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	for i := range before.Resources {
		b, a := &before.Resources[i], &after.Resources[i]
		name := string(b.Resource)
		rows = append(rows, table.Row{name + " requested", share(b.Requested), share(a.Requested)},
			table.Row{name + " fragmented", share(b.Fragmented), share(a.Fragmented)},
			table.Row{name + ", deviation of nodes", number(b.Deviation), number(a.Deviation)})
	}
	b, a := &before.Spread, &after.Spread
	rows = append(rows, table.Row{"nodes with pods", number(b.NodesUsed), number(a.NodesUsed)})
	if b.SameNode+a.SameNode > 0 {
		rows = append(rows, table.Row{"pods of a controller on one node", share(b.SameNode), share(a.SameNode)})
	}
	if b.SameZone+a.SameZone > 0 {
		rows = append(rows, table.Row{"pods of a controller in one zone", share(b.SameZone), share(a.SameZone)})
	}
	p.table(columns, rows)
}

// groupsShown is how many groups of a kind are printed, and movesShown how many pods.
const groupsShown, movesShown = 8, 20

// groups prints what pods that changed have in common, if they have.
func (p *printer) groups(head string, groups []experiment.Group) {
	if len(groups) == 0 {
		return
	}
	columns := []column{{head: head, least: 16}, {head: "MOVED", numbers: true}}
	known := slices.ContainsFunc(groups, func(g experiment.Group) bool { return g.Pods > 0 })
	if known {
		columns = append(columns, column{head: "OF", numbers: true})
	}
	var kinds []experiment.Change
	for _, c := range experiment.Changes() {
		if slices.ContainsFunc(groups, func(g experiment.Group) bool { return g.Changes[c] > 0 }) {
			kinds = append(kinds, c)
			columns = append(columns, column{head: strings.ToUpper(string(c)), numbers: true})
		}
	}
	var rows []table.Row
	for i := range groups[:min(len(groups), groupsShown)] {
		g := &groups[i]
		row := table.Row{g.Name, g.Moves}
		if known {
			row = append(row, g.Pods)
		}
		for _, c := range kinds {
			row = append(row, g.Changes[c])
		}
		rows = append(rows, row)
	}
	p.tableOf(columns, rows, len(groups))
}

// moves prints the pods that changed. WHY says what kept a pod pending that is placed now; for others, why they are where they are
// now.
func (p *printer) moves(moves []experiment.Move) {
	if len(moves) == 0 {
		return
	}
	columns := []column{{head: "POD", least: 16}, {head: "CHANGE"}, {head: "BEFORE", least: 8}, {head: "AFTER", least: 8}, {head: "WHY", least: 24}}
	var rows []table.Row
	node := func(f *experiment.Fate) string {
		if f.Node == "" {
			return "-"
		}
		return f.Node
	}
	for i := range moves[:min(len(moves), movesShown)] {
		m := &moves[i]
		why := m.After.Why
		if m.Change == experiment.Placed || m.Change == experiment.Spared {
			why = m.Before.Why
		}
		rows = append(rows, table.Row{m.Namespace + "/" + m.Pod, strings.ToLower(string(m.Change)), node(&m.Before), node(&m.After), why})
	}
	p.tableOf(columns, rows, len(moves))
}
