package app

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/kube"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// beforeDisable is the annotation of a plugin that the command has disabled. It stays if somebody else enables the plugin.
const beforeDisable = "berth.dev/before-disable"

// beforeDisabled is what the annotation says: the fields of the spec as they were, and what the command wrote.
type beforeDisabled struct {
	Mode  v1alpha1.Mode         `json:"mode,omitempty"`
	When  v1alpha1.WhenDisabled `json:"whenDisabled,omitempty"`
	Wrote v1alpha1.WhenDisabled `json:"wrote,omitempty"`
	All   bool                  `json:"all,omitempty"` // by --all
}

// disabledBefore reads the annotation; nil if there is none.
func disabledBefore(o *kube.PluginObject) (*beforeDisabled, error) {
	text, ok := o.Annotations[beforeDisable]
	if !ok {
		return nil, nil
	}
	out := &beforeDisabled{}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return nil, fmt.Errorf("the annotation %s: %w: remove it, and set spec.mode and spec.whenDisabled by hand", beforeDisable, err)
	}
	return out, nil
}

// note sets the annotation.
func (b *beforeDisabled) note(o *kube.PluginObject) ([]kube.Change, error) {
	text, err := json.Marshal(b)
	switch {
	case err != nil || o.Annotations[beforeDisable] == string(text):
		return nil, err
	case o.Annotations == nil:
		return []kube.Change{set("/metadata/annotations", map[string]string{beforeDisable: string(text)})}, nil
	}
	return []kube.Change{set(annotationPath, string(text))}, nil
}

// field sets a field of the spec, or removes it if the value is empty; nothing if it is as it should be.
func field[T ~string](path string, is, wanted T) []kube.Change {
	switch {
	case is == wanted:
		return nil
	case wanted == "":
		return []kube.Change{{Op: "remove", Path: path}}
	}
	return []kube.Change{set(path, wanted)}
}

// Paths of a patch.
const (
	annotationPath = "/metadata/annotations/berth.dev~1before-disable"
	whenPath       = "/spec/whenDisabled"
)

// disable stops a plugin; flag is what --hold or --release asks for, or empty.
func disable(o *kube.PluginObject, flag v1alpha1.WhenDisabled, all bool) ([]kube.Change, string, error) {
	was, err := disabledBefore(o)
	if err != nil {
		return nil, "", err
	}
	already := o.Mode == v1alpha1.ModeDisabled
	if already && flag == "" && (all || was == nil || !was.All) {
		return nil, "the plugin is disabled already, and " + fate(o, o.WhenDisabled), nil
	}
	next := beforeDisabled{Mode: o.Mode, When: o.WhenDisabled, All: all}
	if was != nil && o.WhenDisabled == was.Wrote { // an earlier --hold or --release is no wish for this time
		next.When = was.When
	}
	then := flag
	switch {
	case already:
		if next.Mode, next.All = "", false; was != nil {
			next.Mode, next.All = was.Mode, was.All && all
		}
		if then == "" {
			then = o.WhenDisabled
		}
	case then == "" && next.When == "" && o.Mode == v1alpha1.ModeShadow:
		then = v1alpha1.Release // no pod has waited for it
	case then == "":
		then = next.When
	}
	next.Wrote = then
	noted, err := next.note(o)
	changes := append(field("/spec/mode", o.Mode, v1alpha1.ModeDisabled), noted...)
	return append(changes, field(whenPath, o.WhenDisabled, then)...), "the plugin is stopped, and " + fate(o, then), err
}

// fate says what happens to the pods of a plugin that is disabled.
func fate(o *kube.PluginObject, then v1alpha1.WhenDisabled) string {
	switch {
	case then == v1alpha1.Hold:
		return "its pods wait"
	case then == v1alpha1.Release, o.Ignores:
		return "its pods are placed without it"
	}
	return "its pods wait if its module can reject nodes or pods; if it only scores nodes, they are placed without it"
}

// enable restores what was there before a plugin was disabled.
func enable(o *kube.PluginObject, all bool) ([]kube.Change, string, error) {
	was, err := disabledBefore(o)
	disabled := o.Mode == v1alpha1.ModeDisabled
	s := o.Status.Rollout
	unfinished := s != nil && s.Stable != nil && !rollout.Same(s.Stable, &o.Version)
	switch {
	case err != nil:
		return nil, "", err
	case all && !disabled:
		return nil, "the plugin was not disabled", nil
	case all && (was == nil || !was.All): // somebody has a reason of their own
		return nil, "the plugin was disabled before --all and stays disabled", nil
	case !disabled:
		return nil, "", errors.New("the plugin is not disabled")
	}
	mode, changes := v1alpha1.ModeEnforce, []kube.Change(nil)
	if was != nil {
		mode = was.Mode
		changes = append(changes, kube.Change{Op: "remove", Path: annotationPath})
		if o.WhenDisabled == was.Wrote {
			changes = append(changes, field(whenPath, o.WhenDisabled, was.When)...)
		}
	}
	if unfinished && mode != v1alpha1.ModeShadow { // the new version must not decide for all pods at once
		mode = v1alpha1.ModeCanary
	}
	done := "the plugin decides again"
	switch {
	case mode == v1alpha1.ModeDisabled:
		return nil, "", fmt.Errorf(
			"the annotation %s says that the plugin was disabled before: remove it, and set spec.mode by hand", beforeDisable)
	case mode == v1alpha1.ModeShadow:
		done = "the plugin is tried again"
	case mode == v1alpha1.ModeCanary && unfinished:
		done = fmt.Sprintf("%s decides again, and the rollout starts from its first step", s.Stable.Digest)
	}
	return append(field("/spec/mode", o.Mode, mode), changes...), done, nil
}

func newPluginDisable() *cobra.Command {
	var hold, release, undo bool
	cmd := newVerb(&verb{
		use: "disable", short: "Stop a plugin",
		long: `Disable stops a plugin: its module is no longer called. If the plugin can reject nodes or pods,
its pods wait, unless you release them or spec.whenDisabled does. If it only scores nodes, or was
in shadow, they do not wait. Pods that use a feature which no other plugin enforces stay
pending. Disable sets spec.mode and, with --hold or --release, spec.whenDisabled, which hold for
this time only. --undo restores what was there. --all --undo starts the plugins that --all stopped.`,
		example: `  berth plugin disable zone-cost
  berth plugin disable --all --release
  berth plugin disable --all --undo
  berth plugin disable zone-cost --undo`,
		check: func() error {
			if hold && release || undo && (hold || release) {
				return errors.New("name at most one of --hold, --release and --undo")
			}
			return nil
		},
		change: func(o *kube.PluginObject, all bool) ([]kube.Change, string, error) {
			switch {
			case undo:
				return enable(o, all)
			case hold:
				return disable(o, v1alpha1.Hold, all)
			case release:
				return disable(o, v1alpha1.Release, all)
			}
			return disable(o, "", all)
		},
	}, true)
	f := cmd.Flags()
	f.BoolVar(&hold, "hold", false, "its pods wait")
	f.BoolVar(&release, "release", false, "its pods are placed without it")
	f.BoolVar(&undo, "undo", false, "restore spec.mode and spec.whenDisabled, as they were before")
	return cmd
}
