package bridge

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// PreEnqueue calls the plugin for each pod.
func (p *Plugin) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	for i, pod := range pods {
		out[i] = nil
		if p.preEnqueue != nil {
			out[i] = statusOf(p.preEnqueue.PreEnqueue(p.ctx, pod.Object))
		}
	}
}

// Less orders the queue.
func (p *Plugin) Less(a, b *state.QueuedPod) bool {
	if p.queueSort == nil {
		return false
	}
	return p.queueSort.Less(queuedPod{a}, queuedPod{b})
}

// queuedPod implements framework.QueuedEntityInfo.
type queuedPod struct{ *state.QueuedPod }

var _ framework.QueuedEntityInfo = queuedPod{}

// Type implements framework.QueuedEntityInfo: the queue holds only pods.
func (q queuedPod) Type() framework.EntityKeyType { return framework.PodKeyType }

// GetPriority implements framework.QueuedEntityInfo.
func (q queuedPod) GetPriority() int32 { return q.Pod.Priority }

// GetPodInfo returns the pod for plugins that order by more than an entity tells: the framework has the method no more.
func (q queuedPod) GetPodInfo() framework.PodInfo { return newPodInfo(q.Pod) }

// GetTimestamp implements framework.QueuedEntityInfo.
func (q queuedPod) GetTimestamp() time.Time { return q.Timestamp }

// GetAttempts implements framework.QueuedEntityInfo.
func (q queuedPod) GetAttempts() int { return q.Attempts }

// GetBackoffExpiration implements framework.QueuedEntityInfo.
func (q queuedPod) GetBackoffExpiration() time.Time { return q.BackoffUntil }

// GetUnschedulableCount implements framework.QueuedEntityInfo.
func (q queuedPod) GetUnschedulableCount() int { return q.Unschedulable }

// GetConsecutiveErrorsCount implements framework.QueuedEntityInfo.
func (q queuedPod) GetConsecutiveErrorsCount() int { return q.Errors }

// GetInitialAttemptTimestamp implements framework.QueuedEntityInfo.
func (q queuedPod) GetInitialAttemptTimestamp() *time.Time {
	if q.InitialAttempt.IsZero() {
		return nil
	}
	at := q.InitialAttempt
	return &at
}

// GetUnschedulablePlugins implements framework.QueuedEntityInfo.
func (q queuedPod) GetUnschedulablePlugins() sets.Set[string] { return sets.New(q.Rejectors...) }

// GetPendingPlugins implements framework.QueuedEntityInfo.
func (q queuedPod) GetPendingPlugins() sets.Set[string] { return sets.New(q.Pending...) }

// GetGatingPlugin implements framework.QueuedEntityInfo.
func (q queuedPod) GetGatingPlugin() string { return q.GatedBy }

// GetGatingPluginEvents implements framework.QueuedEntityInfo: the queue asks the pipeline for
// these events and does not store them.
func (q queuedPod) GetGatingPluginEvents() []framework.ClusterEvent { return nil }

// events returns the events that the plugin registers. As in kube-scheduler, a plugin that can
// reject a pod but does not implement EnqueueExtensions is woken by all events.
func (p *Plugin) events(ctx context.Context) ([]plugin.Event, error) {
	if p.preEnqueue == nil && p.preFilter == nil && p.filter == nil && p.reserve == nil && p.permit == nil {
		return nil, nil
	}
	extensions, ok := p.hosted.(framework.EnqueueExtensions)
	if !ok {
		return []plugin.Event{{ClusterEvent: state.ClusterEvent{Resource: state.WildCardResource, Action: state.AllActions}}}, nil
	}
	registered, err := extensions.EventsToRegister(ctx)
	if err != nil {
		return nil, err
	}
	var out []plugin.Event
	for i := range registered {
		out = append(out, p.event(&registered[i]))
	}
	return out, nil
}

func (p *Plugin) event(e *framework.ClusterEventWithHint) plugin.Event {
	out := plugin.Event{ClusterEvent: state.ClusterEvent{
		Resource: state.EventResource(e.Event.Resource), Action: actionOf(e.Event.ActionType), Label: e.Event.CustomLabel,
	}}
	hint := e.QueueingHintFn
	if hint == nil {
		return out
	}
	logger := klog.FromContext(p.ctx)
	out.Hint = func(pod *state.Pod, object state.Object) (state.Hint, error) {
		before, after := objects(&object)
		answer, err := hint(logger, pod.Object, before, after)
		if err != nil || answer == framework.Queue {
			return state.Queue, err
		}
		return state.QueueSkip, nil
	}
	return out
}

// actionOf converts a set of actions by their names, as their bits differ. Berth has more, which only Update and All cover.
func actionOf(a framework.ActionType) state.Action {
	var out state.Action
	for bit := framework.ActionType(1); bit < framework.All; bit <<= 1 {
		if action, ok := state.ParseAction(bit.String()); ok && a&bit != 0 {
			out |= action
		}
	}
	if a&framework.Update == framework.Update {
		out |= state.Update
	}
	return out
}

// objects returns the API objects that a hint is called with, nil for none.
func objects(o *state.Object) (before, after any) {
	switch {
	case o.OldPod != nil || o.NewPod != nil:
		if o.OldPod != nil {
			before = o.OldPod.Object
		}
		if o.NewPod != nil {
			after = o.NewPod.Object
		}
	case o.OldNode != nil || o.NewNode != nil:
		if o.OldNode != nil {
			before = o.OldNode.Object
		}
		if o.NewNode != nil {
			after = o.NewNode.Object
		}
	default:
		before, after = o.Old, o.New
	}
	return before, after
}
