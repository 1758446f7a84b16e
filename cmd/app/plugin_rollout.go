package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// verb is a command that patches objects of the API.
type verb struct {
	use, short, long, example string
	// check (optional) refuses flags that contradict each other.
	check func() error
	// change returns the patch, and what it does. all is true if no object was named; then objects
	// that need no change have none.
	change func(o *kube.PluginObject, all bool) ([]kube.Change, string, error)
}

// newVerb returns a command that patches one object; with all, one or all.
func newVerb(v *verb, all bool) *cobra.Command {
	var user kube.User
	var every, print bool
	wanted := "name one PLUGIN: a SchedulerPlugin, or NAMESPACE/NAME of a TenantPlugin"
	if all {
		wanted += "; or --all"
	}
	cmd := &cobra.Command{
		Use: v.use + " PLUGIN", Short: v.short, Long: v.long + `

PLUGIN is the name of a SchedulerPlugin, or NAMESPACE/NAME of a TenantPlugin. The command is
one patch of the object, with your permissions; --print shows it for kubectl.`, Example: v.example,
		Args: cobra.MaximumNArgs(1), PreRunE: applySettings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == every || len(args) == 1 && strings.Count(args[0], "/") > 1 {
				return errors.New(wanted)
			}
			if v.check != nil {
				if err := v.check(); err != nil {
					return err
				}
			}
			visitor, err := visit(cmd.Context(), &user)
			if err != nil {
				return err
			}
			objects, err := chosen(cmd.Context(), visitor, args)
			if err != nil {
				return &failure{err}
			}
			var errs []error
			for _, o := range objects {
				if err := v.apply(cmd, visitor, o, every, print); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", o, err))
				}
			}
			if err := errors.Join(errs...); err != nil {
				return &failure{err}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	if all {
		f.BoolVar(&every, "all", false, "all plugins of the API instead of one")
	}
	f.BoolVar(&print, "print", false, "print the command for kubectl, and change nothing")
	userFlags(f, &user)
	return cmd
}

func userFlags(f *pflag.FlagSet, user *kube.User) {
	f.StringVar(&user.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE`; kubectl's if not given")
	f.StringVar(&user.Context, "context", "", "kubeconfig `CONTEXT`; the current one if not given")
}

func visit(ctx context.Context, user *kube.User) (*kube.Visitor, error) {
	visitor, err := user.Connect(ctx)
	if errors.Is(err, kube.ErrNoCluster) {
		err = fmt.Errorf("%w: name a file with --kubeconfig or $KUBECONFIG", err)
	}
	return visitor, err
}

// chosen reads the object that is named, or all.
func chosen(ctx context.Context, visitor *kube.Visitor, args []string) ([]*kube.PluginObject, error) {
	if len(args) == 0 {
		return visitor.Plugins(ctx)
	}
	namespace, name, ok := strings.Cut(args[0], "/")
	if !ok {
		namespace, name = "", args[0]
	}
	o, err := visitor.Plugin(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return []*kube.PluginObject{o}, nil
}

// apply changes an object, or prints how.
func (v *verb) apply(cmd *cobra.Command, visitor *kube.Visitor, o *kube.PluginObject, all, print bool) error {
	changes, done, err := v.change(o, all)
	if err != nil {
		return err
	}
	if len(changes) > 0 && print {
		patch, err := json.Marshal(changes)
		if err != nil {
			return err
		}
		resource := "schedulerplugin " + o.Name
		if o.Namespace != "" {
			resource = "tenantplugin -n " + o.Namespace + " " + o.Name
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "kubectl patch %s --type json -p '%s'\n", resource, strings.ReplaceAll(string(patch), "'", `'\''`))
		return err
	}
	for tries := 1; len(changes) > 0; tries++ {
		err := visitor.ChangePlugin(cmd.Context(), o, "berth-plugin-"+v.use, changes...)
		if err == nil {
			break
		}
		// The API server does not say that it is the version that differs.
		next, failed := visitor.Plugin(cmd.Context(), o.Namespace, o.Name)
		if !apierrors.IsInvalid(err) || failed != nil || next.ResourceVersion == o.ResourceVersion || tries == mostTries {
			return err
		}
		o = next
		if changes, done, err = v.change(o, all); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", o, done)
	return err
}

// mostTries is how often a command patches an object that others, such as the scheduler in its status, change meanwhile.
const mostTries = 10

func set(path string, value any) kube.Change {
	return kube.Change{Op: "add", Path: path, Value: value}
}

func newPluginPromote() *cobra.Command {
	return newVerb(&verb{
		use: "promote", short: "Let the new version of a canary decide for all pods",
		long: `Promote ends the rollout of a plugin in mode Canary: its new version decides for all pods at
once. It sets spec.mode to Enforce, and spec.module.image to the image with the digest that was
tried, because the tag may have moved meanwhile. The next kubectl apply replaces both.`,
		example: `  berth plugin promote zone-cost
  berth plugin promote team-a/pool`,
		change: func(o *kube.PluginObject, _ bool) ([]kube.Change, string, error) {
			s := o.Status.Rollout
			if s == nil || s.Canary == nil {
				return nil, "", errors.New("no canary decides for any pod, so there is nothing to promote: see status.rollout")
			}
			c := &s.Canary.PluginVersion
			if !rollout.Same(c, &o.Version) { // its image would not be that of spec.module
				return nil, "", fmt.Errorf(
					"the object names another version than the canary, %s: wait until status.rollout has it, or roll back", c.Digest)
			}
			changes := []kube.Change{set("/spec/mode", v1alpha1.ModeEnforce)}
			if c.Module.Image != "" {
				changes = append(changes, set("/spec/module/image", c.Module.Image))
			}
			return changes, fmt.Sprintf("%s decides for all pods", c.Digest), nil
		},
	}, false)
}

func newPluginPause() *cobra.Command {
	var resume bool
	cmd := newVerb(&verb{
		use: "pause", short: "Keep a canary at its step",
		long: `Pause keeps the rollout of a plugin in mode Canary at its step; its bounds still hold. A
rollout that has not begun does not begin. Pause sets spec.rollout.paused.`,
		example: `  berth plugin pause zone-cost
  berth plugin pause zone-cost --resume`,
		change: func(o *kube.PluginObject, _ bool) ([]kube.Change, string, error) {
			done := "the rollout is paused"
			if resume {
				done = "the rollout continues"
			}
			if o.Rollout == nil {
				return []kube.Change{set("/spec/rollout", v1alpha1.Rollout{Paused: !resume})}, done, nil
			}
			return []kube.Change{set("/spec/rollout/paused", !resume)}, done, nil
		},
	}, false)
	cmd.Flags().BoolVar(&resume, "resume", false, "continue the rollout")
	return cmd
}

func newPluginRollback() *cobra.Command {
	return newVerb(&verb{
		use: "rollback", short: "Go back to the stable or the previous version",
		long: `Rollback ends a rollout: the stable version of the plugin decides for all pods again. Without
a rollout, the version before the stable one decides. Rollback copies spec.module and
spec.config of that version from status.rollout, and sets spec.mode to Enforce. It notes them
in kubectl's annotation, too, so that the next kubectl apply replaces all of them.`,
		example: `  berth plugin rollback zone-cost
  berth plugin rollback team-a/pool --print`,
		change: func(o *kube.PluginObject, _ bool) ([]kube.Change, string, error) {
			to := earlier(o.Status.Rollout)
			if to == nil {
				return nil, "", errors.New("there is no version to go back to: status.rollout has neither a canary nor an old version")
			}
			module := to.Module
			if module.Digest = to.Digest; module.Image != module.Image.Unpinned() {
				module.Digest = "" // that of the image says it
			}
			var config any = map[string]any{}
			if to.Config != nil {
				config = to.Config
			}
			changes := []kube.Change{set("/spec/module", module), set("/spec/mode", v1alpha1.ModeEnforce), set("/spec/config", config)}
			applied, err := noteApplied(o, map[string]any{"module": module, "config": config})
			return append(changes, applied...), fmt.Sprintf("%s decides for all pods", to.Digest), err
		},
	}, false)
}

// noteApplied has kubectl's note of what was applied last say that it had these fields of the spec: fields that only a
// command set, kubectl apply would keep. Without a note nothing changes.
func noteApplied(o *kube.PluginObject, fields map[string]any) ([]kube.Change, error) {
	text, ok := o.Annotations[v1.LastAppliedConfigAnnotation]
	if !ok {
		return nil, nil
	}
	var applied map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&applied); err != nil {
		return nil, fmt.Errorf("the annotation %s: %w: kubectl apply --server-side does not use it; remove it",
			v1.LastAppliedConfigAnnotation, err)
	}
	spec, _ := applied["spec"].(map[string]any)
	if spec == nil {
		spec = make(map[string]any)
	}
	maps.Copy(spec, fields)
	applied["spec"] = spec
	out, err := json.Marshal(applied)
	return []kube.Change{set("/metadata/annotations/"+strings.ReplaceAll(v1.LastAppliedConfigAnnotation, "/", "~1"), string(out)+"\n")}, err
}

// earlier is the version that a rollback leads to; nil if there is none.
func earlier(s *v1alpha1.RolloutStatus) *v1alpha1.PluginVersion {
	switch {
	case s == nil:
		return nil
	case s.Canary != nil || s.Failed != nil:
		return s.Stable
	case s.Old != nil:
		return &s.Old.PluginVersion
	}
	return nil
}
