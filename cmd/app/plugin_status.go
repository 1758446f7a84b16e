package app

import (
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
		Short: "List the plugin modules of the running scheduler, with faults",
		Long: `Status lists the plugin modules in the profiles of a running scheduler: versions and
digests, calls, fuel and memory, whether a breaker stops their calls, and the last fault;
who signed them by the policy, and whether the index yanks them (berth run --index).
If the scheduler follows a plugin folder, status also lists the files that it refused, and
why. Only the leader calls plugins; any other replica prints who leads.`,
		Example: `  berth plugin status
  berth plugin status --kubeconfig ~/.kube/config --context prod`,
		Args:    noArguments(""),
		PreRunE: o.settle,
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
			if err := readAnswer(cmd.Context(), body, &s); err != nil {
				return err
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

// status prints the plugin modules of a running scheduler.
func (p *printer) status(s *debughttp.Plugins, now time.Time) {
	if s.Standby {
		leader := "no leader is known"
		if s.Leader != "" {
			leader = "the leader is " + s.Leader
		}
		p.text("This replica is not the leader; %s. It has loaded the following modules but does not call them.", leader)
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
			if x.Shadow {
				name += " (in shadow)"
			}
			rows = append(rows, table.Row{x.Profile, name, x.Module, called(x, now), x.Calls, x.Rows, x.Fuel, x.Faults,
				ofMebibytes(x.Memory, x.MemoryTotal), short(x.Digest)})
		}
		p.table(columns, rows)
	}
	for _, c := range s.CompiledIn {
		p.text("%s in %s is compiled in, and stands at %s.", c.Name, c.Profile, strings.Join(c.Points, ", "))
	}
	for i := range s.Plugins {
		x := &s.Plugins[i]
		if len(x.Signers) > 0 {
			p.text("%s in %s is signed by %s.", x.Name, x.Profile, strings.Join(x.Signers, ", "))
		}
		if x.Yanked != "" {
			p.text("%s in %s is yanked: %s", x.Name, x.Profile, x.Yanked)
		}
		if x.NotKept != "" {
			p.text("%s in %s is asked about every node for every pod: %s.", x.Name, x.Profile, x.NotKept)
		}
	}
	for i := range s.Plugins {
		if x := &s.Plugins[i]; x.LastFault != "" {
			ago := ""
			if x.FaultAt != nil {
				ago = ", " + duration.HumanDuration(now.Sub(*x.FaultAt)) + " ago"
			}
			p.text("Last fault of %s in %s%s: %s", x.Name, x.Profile, ago, x.LastFault)
		}
	}
	for _, f := range s.Folder {
		if f.Error != "" {
			runs := "no version of it runs"
			if f.Plugin != "" {
				runs = "its previous version still runs"
			}
			p.text("%s was refused (%s): %s", f.File, runs, f.Error)
		}
	}
	for _, f := range s.Feeds {
		if f.Error != "" {
			p.text("The feed %s fails (%d values, %d of them stale): %s", f.Feed, f.Keys, f.Stale, f.Error)
		}
	}
	if s.Error != "" {
		p.text("The last change of the folder was refused: %s", s.Error)
	}
}

// called returns whether a plugin is called, and if not, when the next call will be.
func called(x *debughttp.Plugin, now time.Time) string {
	switch {
	case x.Breaker == "closed" && len(x.NotCalledFor) > 0:
		return "but for " + plain.List(x.NotCalledFor, ", ", 40, "namespaces")
	case x.Breaker == "closed":
		return "yes"
	case x.RetryAt != nil && x.RetryAt.After(now):
		return "again in " + seconds(x.RetryAt.Sub(now).Seconds())
	}
	return "as a probe"
}

// ofMebibytes formats used and total bytes in mebibytes, rounded up.
func ofMebibytes(used, total int64) string {
	const mebi = 1 << 20
	return fmt.Sprintf("%d/%d Mi", (used+mebi-1)/mebi, (total+mebi-1)/mebi)
}
