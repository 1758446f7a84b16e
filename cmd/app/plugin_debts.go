package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/runtime/scheduler"
)

func newPluginDebts() *cobra.Command {
	o := serverOptions{onlySocket: true}
	var socket, forgive string
	cmd := &cobra.Command{
		Use:   "debts",
		Short: "List whose pods may preempt no others for now, or forgive that",
		Long: `Debts lists the namespaces with attached plugins whose pods may have no pods of other
namespaces removed for now, because some were removed for a pod that is not bound yet.
Likewise it lists pods to which a module for all namespaces applies, after three
preemptions. With --forgive the scheduler forgets the debt of one of them. The scheduler
answers only at its debug socket, so run the command on the leader's machine or in its pod.`,
		Example: `  berth plugin debts
  kubectl exec -n kube-system POD -- /berth plugin debts --forgive team-a`,
		Args:    noArguments(""),
		PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if socket != "" {
				o.server = "unix:" + socket
			}
			if cmd.Flags().Changed("forgive") && forgive == "" {
				return errors.New("--forgive: no owner is named (berth plugin debts lists them)")
			}
			p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
			if forgive != "" {
				if _, err := o.ask(cmd.Context(), http.MethodPost, debughttp.DebtsPath, forgive); err != nil {
					return err
				}
				p.text("The debt of %s is forgiven. Pods that it held back are tried again.", forgive)
				return p.err
			}
			body, err := o.ask(cmd.Context(), http.MethodGet, debughttp.DebtsPath, "")
			if err != nil {
				return err
			}
			if o.output == "json" {
				_, err = cmd.OutOrStdout().Write(plain.JSON(body))
				return err
			}
			var list []debughttp.Debt
			if err := readAnswer(cmd.Context(), body, &list); err != nil {
				return err
			}
			p.debts(list, time.Now())
			return p.err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&forgive, "forgive", "", "forget the debt of this `OWNER`, as the list names it")
	f.StringVarP(&o.output, "output", "o", "text", "output `FORMAT`: text or json")
	f.StringVar(&socket, "debug-socket", "", "the scheduler's Unix socket `FILE`, if berth run has a --debug-socket")
	f.DurationVar(&o.timeLimit, "request-timeout", 15*time.Second, "how long the scheduler may take to answer")
	return cmd
}

// debts prints debts.
func (p *printer) debts(list []debughttp.Debt, now time.Time) {
	if len(list) == 0 {
		p.text("No debts are open.")
		return
	}
	var rows []table.Row
	for _, d := range list {
		rows = append(rows, table.Row{d.Owner, d.For, duration.HumanDuration(now.Sub(d.Since)), duration.HumanDuration(max(0, d.Until.Sub(now)))})
	}
	p.table([]column{{head: "OWNER"}, {head: "ROOM WAS MADE FOR"}, {head: "AGE", numbers: true}, {head: "ENDS IN", numbers: true}}, rows)
}

// debts are those of the scheduler.
func (w *watched) debts(leader func() (string, bool)) debughttp.Debts {
	return debughttp.Debts{List: w.listDebts, Forgive: w.forgiveDebt, Leader: leader}
}

func (w *watched) openDebts(ctx context.Context) (open []scheduler.Debt, s *scheduler.Scheduler, err error) {
	r := w.running.Load()
	if r == nil {
		return nil, nil, errors.New("the scheduler has not started yet")
	}
	s = r.assembly.Scheduler
	if err = s.Do(ctx, func() { open, _ = s.Debts() }); err != nil {
		return nil, nil, err
	}
	return open, s, nil
}

func (w *watched) listDebts(ctx context.Context) ([]debughttp.Debt, error) {
	open, _, err := w.openDebts(ctx)
	out := make([]debughttp.Debt, 0, len(open))
	for i := range open {
		out = append(out, debughttp.Debt{Owner: open[i].Owner(), For: open[i].For, Since: open[i].Since, Until: open[i].Until})
	}
	return out, err
}

func (w *watched) forgiveDebt(ctx context.Context, owner string) (bool, error) {
	open, s, err := w.openDebts(ctx)
	i := slices.IndexFunc(open, func(d scheduler.Debt) bool { return d.Owner() == owner })
	if err != nil || i < 0 {
		return false, err
	}
	s.ForgiveDebt(open[i].Namespace, open[i].Pod)
	return true, nil
}
