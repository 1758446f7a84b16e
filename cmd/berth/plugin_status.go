package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/debughttp"
)

func newPluginStatus() *cobra.Command {
	var o serverOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask the running scheduler which plugins run, and how they fare",
		Long: `Status lists the plugin modules that a running scheduler has in its profiles: their
versions and digests, what they did, whether they are called or left alone because of
their faults, and the last fault. Of a folder that is followed it tells which files are
not what runs, and why. Only the replica that leads calls plugins; another one says who
leads.`,
		Example: `  berth plugin status
  berth plugin status --kubeconfig ~/.kube/config --context prod`,
		Args:    cobra.NoArgs,
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, err := o.get(cmd.Context(), debughttp.PluginsPath)
			if err != nil {
				return err
			}
			if o.output == "json" {
				_, err = cmd.OutOrStdout().Write(plain.JSON(body))
				return err
			}
			var s debughttp.Plugins
			if err := json.Unmarshal(body, &s); err != nil {
				return &failure{fmt.Errorf("the scheduler's answer: %w (is it of another version?)", err)}
			}
			p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
			p.status(&s, time.Now())
			return p.err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.flags(f)
	return cmd
}

// status prints the modules of a running scheduler.
func (p *printer) status(s *debughttp.Plugins, now time.Time) {
	if s.Standby {
		leader := "none is known to"
		if s.Leader != "" {
			leader = s.Leader + " does"
		}
		p.text("This replica does not lead: %s. It has loaded what follows, and calls nothing.", leader)
	}
	if len(s.Plugins) == 0 {
		p.text("No modules run.")
	} else {
		columns := []column{{head: "PROFILE"}, {head: "PLUGIN"}, {head: "MODULE"}, {head: "CALLED"}, {head: "CALLS", numbers: true}, {head: "ROWS", numbers: true},
			{head: "FUEL", numbers: true}, {head: "FAULTS", numbers: true}, {head: "MEMORY", numbers: true}, {head: "DIGEST"}}
		var rows []table.Row
		for i := range s.Plugins {
			x := &s.Plugins[i]
			name := x.Name
			if len(x.Namespaces) > 0 {
				name += " for " + strings.Join(x.Namespaces, ", ")
			}
			rows = append(rows, table.Row{x.Profile, name, x.Module, called(x, now), x.Calls, x.Rows, x.Fuel, x.Faults,
				ofMebibytes(x.Memory, x.MemoryTotal), short(x.Digest)})
		}
		p.table(columns, rows)
	}
	for i := range s.Plugins {
		if x := &s.Plugins[i]; x.LastFault != "" {
			ago := ""
			if x.FaultAt != nil {
				ago = ", " + duration.HumanDuration(now.Sub(*x.FaultAt)) + " ago"
			}
			p.text("The last fault of %s in %s%s: %s", x.Name, x.Profile, ago, x.LastFault)
		}
	}
	for _, f := range s.Folder {
		if f.Error != "" {
			runs := "nothing of it runs"
			if f.Plugin != "" {
				runs = "its last version runs on"
			}
			p.text("%s is not what runs (%s): %s", f.File, runs, f.Error)
		}
	}
	if s.Error != "" {
		p.text("The last change was refused: %s", s.Error)
	}
}

// called tells whether a plugin is called.
func called(x *debughttp.Plugin, now time.Time) string {
	switch {
	case x.Breaker == "closed":
		return "yes"
	case x.RetryAt != nil && x.RetryAt.After(now):
		return "again in " + seconds(x.RetryAt.Sub(now).Seconds())
	}
	return "as a probe"
}

// ofMebibytes writes how much of something is used, both rounded up.
func ofMebibytes(used, total int64) string {
	const mebi = 1 << 20
	return fmt.Sprintf("%d/%d Mi", (used+mebi-1)/mebi, (total+mebi-1)/mebi)
}
