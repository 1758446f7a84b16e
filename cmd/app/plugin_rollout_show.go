package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

func newPluginRollout() *cobra.Command {
	var user kube.User
	var output string
	cmd := &cobra.Command{
		Use: "rollout PLUGIN", Short: "Show how far the new version of a plugin is",
		Long: `Rollout shows whether the version that an object names decides for all pods, at which step it
is, what it did there, and what happened before. It reads the object's status, with your
permissions; no scheduler is asked.

PLUGIN is the name of a SchedulerPlugin, or NAMESPACE/NAME of a TenantPlugin.`,
		Example: `  berth plugin rollout zone-cost
  berth plugin rollout team-a/pool -o json`,
		Args: cobra.MaximumNArgs(1), PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || strings.Count(args[0], "/") > 1 {
				return errors.New("name one PLUGIN: a SchedulerPlugin, or NAMESPACE/NAME of a TenantPlugin")
			}
			if output != "text" && output != "json" {
				return fmt.Errorf("-o %s: write text or json", output)
			}
			return showRollout(cmd.Context(), cmd, &user, args, output)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&output, "output", "o", "text", "output `FORMAT`: text or json")
	userFlags(f, &user)
	return cmd
}

func showRollout(ctx context.Context, cmd *cobra.Command, user *kube.User, args []string, output string) error {
	visitor, err := visit(ctx, user)
	if err != nil {
		return err
	}
	objects, err := chosen(ctx, visitor, args)
	if err != nil {
		return &failure{err}
	}
	o := objects[0]
	if output == "json" {
		text, err := json.MarshalIndent(o.Status, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
		}
		return err
	}
	p := &printer{w: cmd.OutOrStdout(), width: width(cmd.OutOrStdout())}
	p.rollout(o, time.Now())
	return p.err
}

// rollout prints the status of an object.
func (p *printer) rollout(o *kube.PluginObject, now time.Time) {
	if len(o.Status.Conditions) == 0 {
		p.text("%s has no status yet: no scheduler that leads has seen it.", o.String())
		return
	}
	if seen := o.Status.ObservedGeneration; seen != o.Generation {
		p.text("The object has changed, and no scheduler has seen that yet: this status is about generation %d, and the object has %d.",
			seen, o.Generation)
	}
	for _, c := range o.Status.Conditions {
		p.text("%s is %s, %s: %s", c.Type, string(c.Status), c.Reason, c.Message)
	}
	s := o.Status.Rollout
	if s == nil {
		return
	}
	var rows []table.Row
	add := func(role string, v *v1alpha1.PluginVersion, decides string) {
		rows = append(rows, table.Row{role, cmp.Or(string(v.Module.Image), v.Module.URL), short(string(v.Digest)), decides})
	}
	others := int32(100)
	if s.Canary != nil {
		others -= s.Canary.Percent
	}
	if s.Stable != nil {
		add("stable", s.Stable, fmt.Sprintf("%d%%", others))
	}
	if s.Canary != nil {
		add("canary", &s.Canary.PluginVersion, fmt.Sprintf("%d%%", s.Canary.Percent))
	}
	if s.Failed != nil {
		add("failed", &s.Failed.PluginVersion, "0%")
	}
	if s.Old != nil && s.Old.Until.After(now) {
		add("old", &s.Old.PluginVersion, "0%, ready for "+duration.HumanDuration(s.Old.Until.Sub(now)))
	}
	p.table([]column{{head: "VERSION"}, {head: "MODULE", least: 20}, {head: "DIGEST"}, {head: "DECIDES FOR"}}, rows)
	if s.Canary != nil {
		p.step(o, now)
	}
	p.history(s.History, now)
}

// step prints what a canary needs to leave its step, and what it did.
func (p *printer) step(o *kube.PluginObject, now time.Time) {
	r := cmp.Or(o.Rollout, &v1alpha1.Rollout{})
	pause, least := rollout.Needs(r, o.Status.Rollout.Canary.Step)
	p.text("The step began %s ago. It takes at least %s and %d attempts.",
		ago(o.Status.Rollout.Canary.Since, now), duration.HumanDuration(pause), least)
	if o.Status.Observed != "" {
		p.text("Observed, up to 30 seconds ago: %s.", o.Status.Observed)
	}
}

func (p *printer) history(changes []v1alpha1.RolloutChange, now time.Time) {
	if len(changes) == 0 {
		return
	}
	var rows []table.Row
	for _, c := range slices.Backward(changes) {
		rows = append(rows, table.Row{ago(c.At, now), c.What, short(string(c.Digest)), fmt.Sprintf("%d%%", c.Percent), c.Message})
	}
	p.table([]column{
		{head: "AGE", numbers: true}, {head: "CHANGE"}, {head: "DIGEST"}, {head: "DECIDES FOR", numbers: true}, {head: "OBSERVED", least: 30},
	}, rows)
}

func ago(at metav1.Time, now time.Time) string {
	return duration.HumanDuration(max(0, now.Sub(at.Time)))
}
