package queues

import (
	"context"
	"fmt"
	"hash/fnv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"
	internal "k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// event is a cluster event on both sides.
type event struct {
	name   string
	theirs framework.ClusterEvent
	ours   state.ClusterEvent
}

func newEvent(name string, resource framework.EventResource, action framework.ActionType) event {
	var ours state.Action
	for bit := framework.ActionType(1); bit < framework.All; bit <<= 1 {
		if same, ok := state.ParseAction(bit.String()); ok && action&bit != 0 {
			ours |= same
		}
	}
	return event{
		name: name, theirs: framework.ClusterEvent{Resource: resource, ActionType: action},
		ours: state.ClusterEvent{Resource: state.EventResource(resource), Action: ours},
	}
}

// events are the possible events.
func events() []event {
	return []event{
		newEvent("NodeAdd", framework.Node, framework.Add),
		newEvent("NodeDelete", framework.Node, framework.Delete),
		newEvent("NodeTaint", framework.Node, framework.UpdateNodeTaint),
		{"PodDelete", internal.EventAssignedPodDelete, state.EventAssignedPodDelete()},
		{"Timeout", internal.EventUnschedulableTimeout, state.EventUnschedulableTimeout()},
	}
}

func eventNames() []string {
	var out []string
	for _, e := range events() {
		out = append(out, e.name)
	}
	return out
}

// registration is an event that a plugin registers.
type registration struct {
	plugin string
	event
}

// registrations are those of plugins A and B, which reject at Filter, and G and H, which gate.
// H registers all events.
func registrations() []registration {
	update := newEvent("", framework.Pod, framework.Update)
	update.ours.Action = state.Update
	return []registration{
		{"A", newEvent("", framework.Node, framework.Add|framework.UpdateNodeTaint)},
		{"A", newEvent("", framework.Pod, framework.UpdatePodLabel)},
		{"B", newEvent("", framework.Pod, framework.Delete)},
		{"B", update},
		{"G", newEvent("", framework.Node, framework.Add)},
		{"G", newEvent("", framework.Pod, framework.UpdatePodSchedulingGatesEliminated)},
		{"H", event{theirs: framework.ClusterEvent{Resource: framework.WildCard, ActionType: framework.All},
			ours: state.ClusterEvent{Resource: state.WildCardResource, Action: state.AllActions}}},
	}
}

// world determines the answers of the plugins of both sides.
type world struct {
	gates map[string]string // pod → plugin
	salt  int               // changes with each operation
}

// worth is a hint: a fixed function of plugin, pod and operation.
func (w *world) worth(plugin, pod string) bool {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, plugin, pod, w.salt)
	return h.Sum32()%3 == 0
}

// theirPlugin gates pods at PreEnqueue.
type theirPlugin struct {
	name  string
	world *world
}

// Name implements framework.Plugin.
func (p theirPlugin) Name() string { return p.name }

// PreEnqueue implements framework.PreEnqueuePlugin.
func (p theirPlugin) PreEnqueue(_ context.Context, pod *v1.Pod) *framework.Status {
	if p.world.gates[pod.Name] == p.name {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, "gated")
	}
	return nil
}

func (p theirPlugin) hint(_ klog.Logger, pod *v1.Pod, _, _ any) (framework.QueueingHint, error) {
	if p.world.worth(p.name, pod.Name) {
		return framework.Queue, nil
	}
	return framework.QueueSkip, nil
}

// ourPlugin is the same for a pipeline. It has Bind, because a profile needs one.
type ourPlugin struct {
	info  plugin.Info
	world *world
}

var (
	_ plugin.PreEnqueue = (*ourPlugin)(nil)
	_ plugin.Filter     = (*ourPlugin)(nil)
	_ plugin.Bind       = (*ourPlugin)(nil)
)

func newOurPlugin(name string, w *world) *ourPlugin {
	p := &ourPlugin{info: plugin.Info{Name: name}, world: w}
	for _, r := range registrations() {
		if r.plugin == name {
			p.info.Events = append(p.info.Events, plugin.Event{ClusterEvent: r.ours, Hint: p.hint})
		}
	}
	return p
}

func (p *ourPlugin) hint(pod *state.Pod, _ state.Object) (state.Hint, error) {
	if p.world.worth(p.info.Name, pod.Name) {
		return state.Queue, nil
	}
	return state.QueueSkip, nil
}

// Info implements plugin.Plugin.
func (p *ourPlugin) Info() *plugin.Info { return &p.info }

// PreEnqueue implements plugin.PreEnqueue.
func (p *ourPlugin) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	for i, pod := range pods {
		out[i] = nil
		if p.world.gates[pod.Name] == p.info.Name {
			out[i] = plugin.NewStatus(abi.UnschedulableAndUnresolvable, "gated")
		}
	}
}

// Filter implements plugin.Filter; no cycle runs here.
func (p *ourPlugin) Filter(*plugin.Cycle, []uint32, *plugin.Verdicts) {}

// Bind implements plugin.Bind; nothing is bound here.
func (p *ourPlugin) Bind(*plugin.Placement) (plugin.Directives, *plugin.Status) {
	return plugin.Directives{}, nil
}
