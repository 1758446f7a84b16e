package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/telemetry"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// trials is the JSON of the debug page, and of berth plugin diff.
type trials []shadow.Report

func newPluginDiff() *cobra.Command {
	var o serverOptions
	var last int
	cmd := &cobra.Command{
		Use:   "diff [PLUGIN]",
		Short: "Show what plugins would have decided differently",
		Long: `Diff lists the plugins in shadow (mode: Shadow) of a running scheduler, or one of them. For
each plugin it prints how many decisions were made again with the plugin, how many would be
different, and the last differences with their reasons. Each decision is compared alone, in
the current cluster: only a replay shows the consequences of a different decision.

With --last N, the scheduler decides again about the pods of the last N attempts: each pod
alone, in the current cluster without that pod. It compares decisions with and without a
plugin, with the canary and the stable version of a plugin that has both, or with and
without a plugin in shadow.`,
		Example: `  berth plugin diff
  berth plugin diff zone-cost-next -o json
  berth plugin diff zone-cost --last 100`,
		Args:    optionalArgument("plugin"),
		PreRunE: o.settle,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("last") {
				return o.again(cmd, args, last)
			}
			body, err := o.get(cmd.Context(), debughttp.TrialsPath)
			if err != nil {
				return err
			}
			var all trials
			if err := readAnswer(cmd.Context(), body, &all); err != nil {
				return err
			}
			if all, err = all.of(args); err != nil {
				return &failure{err}
			}
			if o.output == "json" {
				return printJSON(cmd, all)
			}
			p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
			if len(all) == 0 {
				p.text("No plugin is in shadow.")
			}
			p.trials("IN SHADOW", all, shadow.DefaultKeep)
			return p.err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&last, "last", 0, "decide again about the pods of the last `N` attempts, up to "+strconv.Itoa(whatif.MaxLast))
	o.flags(f)
	return cmd
}

// again asks a running scheduler to decide about pods once more.
func (o *serverOptions) again(cmd *cobra.Command, args []string, last int) error {
	if len(args) == 0 || last < 1 || last > whatif.MaxLast {
		return fmt.Errorf("--last: name a PLUGIN, and a number from 1 to %d", whatif.MaxLast)
	}
	body, err := o.get(cmd.Context(), whatif.AgainPath(debughttp.AgainPath, args[0], last))
	if err != nil {
		return err
	}
	var all whatif.Again
	if err := readAnswer(cmd.Context(), body, &all); err != nil {
		return err
	}
	if o.output == "json" {
		return printJSON(cmd, &all)
	}
	p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
	p.again(&all)
	return p.err
}

func printJSON(cmd *cobra.Command, value any) error {
	out, err := json.Marshal(value)
	if err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", plain.JSON(out))
	}
	return err
}

// of returns the trials of the plugin that is named, if one is.
func (all trials) of(args []string) (trials, error) {
	if len(args) == 0 {
		return all, nil
	}
	var out trials
	var names []string
	for i := range all {
		names = append(names, all[i].Plugin)
		if all[i].Plugin == args[0] {
			out = append(out, all[i])
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case len(names) == 0:
		return nil, errors.New("no plugin is in shadow; set the mode of one to Shadow")
	}
	slices.Sort(names)
	return nil, fmt.Errorf("no plugin %q is in shadow, only %s", args[0], strings.Join(slices.Compact(names), ", "))
}

// again prints what a plugin would change for the pods of the last attempts.
func (p *printer) again(a *whatif.Again) {
	text := count(a.Pods, "pod") + " of the last attempts decided again"
	for _, left := range []struct {
		n    int
		what string
	}{{a.Gone, "no longer in the cluster"}, {a.Gated, "gated"}, {a.WithClaims, "with resource claims"}} {
		if left.n > 0 {
			text += fmt.Sprintf("; %d %s", left.n, left.what)
		}
	}
	p.text("%s.", text)
	p.printf("\n")
	p.trials("TRIED", a.Trials, shadow.DefaultKeep)
}

// trials prints the results of plugins that were tried, with the last differences of each.
func (p *printer) trials(head string, all []shadow.Report, most int) {
	if len(all) == 0 {
		return
	}
	columns := []column{{head: head}, {head: "PROFILE"}, {head: "DECISIONS", numbers: true}, {head: "SAME", numbers: true}, {head: "ELSEWHERE", numbers: true},
		{head: "PLACED", numbers: true}, {head: "PENDING", numbers: true}, {head: "PREEMPTION", numbers: true}, {head: "FAILED", numbers: true}, {head: "MISSED", numbers: true}}
	var rows []table.Row
	for i := range all {
		r := &all[i]
		name := r.Plugin
		if r.Replaces != "" {
			name += " for " + r.Replaces
		}
		rows = append(rows, table.Row{name, r.Profile, r.Attempts, r.Same, r.Elsewhere, r.Placed, r.Pending, r.Preemption, r.Failed, r.Missed})
	}
	p.table(columns, rows)
	for i := range all {
		p.differences(&all[i], most)
	}
}

func (p *printer) differences(r *shadow.Report, most int) {
	if len(r.Differences) == 0 {
		return
	}
	p.text("The last differences of %s in %s, the latest first:", r.Plugin, r.Profile)
	columns := []column{{head: "ATTEMPT", numbers: true}, {head: "POD"}, {head: "WAS"}, {head: "WOULD BE"}, {head: "WHY"}}
	var rows []table.Row
	for i := range min(most, len(r.Differences)) {
		d := &r.Differences[i]
		rows = append(rows, table.Row{d.Sequence, d.Namespace + "/" + d.Pod, outcomeOf(&d.Was), outcomeOf(&d.Would), d.Why})
	}
	p.table(columns, rows)
}

// outcomeOf says where a pod went, or would have gone.
func outcomeOf(o *shadow.Outcome) string {
	switch {
	case o.Node != "":
		return o.Node
	case len(o.Victims) > 0:
		return fmt.Sprintf("pending, preempts %s on %s", strings.Join(o.Victims, ", "), o.Nominated)
	}
	return "pending"
}

// comparisons are the metrics of plugins in shadow.
func comparisons(all []shadow.Report) (out []telemetry.TrialCounts) {
	for i := range all {
		r := &all[i]
		out = append(out, telemetry.TrialCounts{
			PluginOf: telemetry.PluginOf{Plugin: r.Plugin, Profile: r.Profile},
			Decisions: map[string]int64{
				string(shadow.Same): r.Same, string(shadow.Elsewhere): r.Elsewhere, string(shadow.Placed): r.Placed, string(shadow.Pending): r.Pending,
				string(shadow.Preemption): r.Preemption, string(shadow.Failed): r.Failed, "missed": r.Missed,
			},
		})
	}
	return out
}

// trials returns the results of plugins in shadow.
func (w *watched) trials() []shadow.Report {
	if r := w.running.Load(); r != nil {
		return r.assembly.Trials()
	}
	return []shadow.Report{}
}
