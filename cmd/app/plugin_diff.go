package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/telemetry"
)

// trials is the JSON of the debug page, and of berth plugin diff.
type trials []shadow.Report

func newPluginDiff() *cobra.Command {
	var o serverOptions
	cmd := &cobra.Command{
		Use:   "diff [PLUGIN]",
		Short: "Show what plugins in shadow would have decided differently",
		Long: `Diff lists the plugins in shadow (mode: Shadow) of a running scheduler, or one of them: how
many decisions were made again with the plugin, how they compare to those that were made,
and the last differences with what they come from. Decisions are compared one by one, each
in the cluster as it is: what would follow from another decision, only a replay shows.`,
		Example: `  berth plugin diff
  berth plugin diff zone-cost-next -o json`,
		Args:    optionalArgument("plugin"),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := o.get(cmd.Context(), debughttp.TrialsPath)
			if err != nil {
				return err
			}
			var all trials
			if err := json.Unmarshal(body, &all); err != nil {
				return &failure{fmt.Errorf("read the scheduler's answer: %w (does the scheduler have another version?)", err)}
			}
			if all, err = all.of(args); err != nil {
				return &failure{err}
			}
			if o.output == "json" {
				out, err := json.Marshal(all)
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", plain.JSON(out))
				}
				return err
			}
			p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
			if len(all) == 0 {
				p.text("No plugin is in shadow.")
			}
			p.trials(all, shadow.DefaultKeep)
			return p.err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.flags(f)
	return cmd
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

// trials prints what came of plugins in shadow, with the last differences of each.
func (p *printer) trials(all []shadow.Report, most int) {
	if len(all) == 0 {
		return
	}
	columns := []column{{head: "IN SHADOW"}, {head: "PROFILE"}, {head: "DECISIONS", numbers: true}, {head: "SAME", numbers: true}, {head: "ELSEWHERE", numbers: true},
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
func comparisons(all []shadow.Report) (out []telemetry.Trial) {
	for i := range all {
		r := &all[i]
		out = append(out, telemetry.Trial{
			PluginOf: telemetry.PluginOf{Plugin: r.Plugin, Profile: r.Profile},
			Decisions: map[string]int64{
				string(shadow.Same): r.Same, string(shadow.Elsewhere): r.Elsewhere, string(shadow.Placed): r.Placed, string(shadow.Pending): r.Pending,
				string(shadow.Preemption): r.Preemption, string(shadow.Failed): r.Failed, "missed": r.Missed,
			},
		})
	}
	return out
}

// trials returns what came of plugins in shadow.
func (w *watched) trials() []shadow.Report {
	if r := w.running.Load(); r != nil {
		return r.assembly.Trials()
	}
	return []shadow.Report{}
}
