package extender

import (
	"context"
	"errors"
	"fmt"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Binder is a plugin that runs before the Bind plugins of every profile. It lets the extender
// bind the pods that it manages, and skips others.
type Binder struct {
	info      plugin.Info
	extenders *Extenders
}

var _ plugin.Bind = (*Binder)(nil)

// Binder returns the plugin. It also provides the events for pods that extenders rejected:
// every event, because extenders cannot say which ones help.
func (e *Extenders) Binder() *Binder {
	return &Binder{extenders: e, info: plugin.Info{
		Name:   Name,
		Events: []plugin.Event{{ClusterEvent: state.ClusterEvent{Resource: state.WildCardResource, Action: state.AllActions}}},
	}}
}

// Info describes the plugin.
func (b *Binder) Info() *plugin.Info { return &b.info }

// Bind lets an extender bind the pod. The extender makes the binding, so patches by plugins are
// written before it, and undone if it fails.
func (b *Binder) Bind(p *plugin.Placement) (plugin.Directives, *plugin.Status) {
	for _, x := range b.extenders.all {
		if x.config.BindVerb == "" || !x.interested(p.Pod) {
			continue
		}
		err := b.extenders.bind(x, p)
		if err != nil && b.extenders.ignore(x, x.config.BindVerb, p.Pod, err) {
			continue
		}
		return plugin.Directives{}, plugin.Fail(err)
	}
	return plugin.Directives{}, plugin.NewStatus(abi.Skip)
}

func (e *Extenders) bind(x *extender, p *plugin.Placement) error {
	undo := func(context.Context) error { return nil }
	if !p.Patch.Empty() {
		if e.deps.Patcher == nil {
			return errors.New("no patcher is configured, so an extender cannot bind a pod that plugins patch")
		}
		var err error
		if undo, err = e.deps.Patcher.Patch(p.Context, p.Pod, p.Patch); err != nil {
			return fmt.Errorf("patch before the binding: %w", err)
		}
	}
	p.Sent() // the limit of requests to the API server is not the extender's
	err := x.bind(p)
	if err != nil {
		// Undo even if the binding was cancelled: the pod must not keep the patch.
		if failed := undo(context.WithoutCancel(p.Context)); failed != nil {
			err = errors.Join(err, fmt.Errorf("undo the patch: %w", failed))
		}
	}
	return err
}

func (x *extender) bind(p *plugin.Placement) error {
	args := &extenderv1.ExtenderBindingArgs{PodName: p.Pod.Name, PodNamespace: p.Pod.Namespace, PodUID: p.Pod.UID, Node: p.Node.Name}
	var result extenderv1.ExtenderBindingResult
	if err := x.client.call(p.Context, x.config.BindVerb, 1, args, &result); err != nil {
		return err
	}
	if result.Error != "" {
		return errors.New(plain.Line(result.Error, abi.MaxTextSize))
	}
	return nil
}
