package pipeline

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Hint sets out[i] to what an event means for the parked pod pods[i]. Only the
// plugins that rejected a pod are asked (KEP-4247), each once about all of its
// pods that are still open. A hint that fails means yes, and so does an event
// that is for all, without being asked. No event moves a gated pod but those that
// its gating plugin registered, and updates of the pod itself. by[i] is the
// plugin that said yes, if it is attached to namespaces; by is nil if none is.
func (p *Pipeline) Hint(event state.ClusterEvent, object state.Object, pods []*state.QueuedPod, out []state.Requeue) (by []*plugin.Info) {
	h := hints{p: p, event: event, object: object, pods: pods, out: out, open: make([]bool, len(pods))}
	for i, pod := range pods {
		out[i] = state.Leave
		h.open[i] = pod.GatedBy == "" || p.registered(pod.GatedBy, event) || h.own(pod)
		if h.open[i] && event.WildCard() {
			h.say(i, state.AfterBackoff, nil)
		}
	}
	h.ask(state.Immediately, func(pod *state.QueuedPod, name string) bool { return slices.Contains(pod.Pending, name) })
	h.ask(state.AfterBackoff, func(pod *state.QueuedPod, name string) bool {
		return slices.Contains(pod.Rejectors, name) && !slices.Contains(pod.Pending, name)
	})
	return h.by
}

// Helps reports whether Hint could answer anything but Leave for a pod with this gate and these rejectors. Updates
// of the pod itself and wildcards are not considered.
func (p *Pipeline) Helps(event state.ClusterEvent, gatedBy string, rejectors, pending []string) bool {
	if gatedBy != "" && !p.registered(gatedBy, event) {
		return false
	}
	lifts := func(name string) bool { return name != Enforcement && name != Debt && p.registered(name, event) }
	return len(rejectors)+len(pending) == 0 || slices.ContainsFunc(rejectors, lifts) || slices.ContainsFunc(pending, lifts)
}

// hints is one event and the pods that it may help.
type hints struct {
	p      *Pipeline
	event  state.ClusterEvent
	object state.Object
	pods   []*state.QueuedPod
	out    []state.Requeue
	open   []bool // nobody has said yes so far
	by     []*plugin.Info
}

// ask asks the plugins for which rejected holds; a yes means answer.
func (h *hints) ask(answer state.Requeue, rejected func(pod *state.QueuedPod, name string) bool) {
	for i, pod := range h.pods {
		lifted := func(name string) bool { return rejected(pod, name) && h.unasked(pod, name) }
		if h.open[i] && (slices.ContainsFunc(pod.Pending, lifted) || slices.ContainsFunc(pod.Rejectors, lifted)) {
			h.say(i, answer, nil)
		}
	}
	for index, info := range h.p.infos {
		events := matching(info, h.event)
		if len(events) == 0 {
			continue
		}
		var batch []*state.Pod
		var at []int
		for i, pod := range h.pods {
			if h.open[i] && rejected(pod, info.Name) {
				batch, at = append(batch, pod.Pod), append(at, i)
			}
		}
		if len(batch) == 0 {
			continue
		}
		if hinter := h.p.hinters[index]; hinter != nil {
			yes := make([]state.Hint, len(batch))
			for i := range yes {
				yes[i] = state.Queue
			}
			watch := clock.Start()
			if !h.p.told(info, abi.Hint, func() { hinter.Hint(h.event, h.object, batch, yes) }) {
				for j := range yes { // an attempt tells more
					yes[j] = state.Queue
				}
			}
			h.p.timings.add(index, abi.Hint, len(batch), abi.Success, watch.Elapsed())
			for j, i := range at {
				if yes[j] == state.Queue {
					h.say(i, answer, info)
				}
			}
			continue
		}
		for j, i := range at {
			if h.worth(index, events, batch[j]) {
				h.say(i, answer, info)
			}
		}
	}
}

func (h *hints) say(i int, answer state.Requeue, info *plugin.Info) {
	h.out[i], h.open[i] = answer, false
	if info == nil || info.Namespaces == nil {
		return
	}
	if h.by == nil {
		h.by = make([]*plugin.Info, len(h.pods))
	}
	h.by[i] = info
}

// unasked reports whether a rejection is lifted without asking a plugin: that of
// the scheduler itself by another spec, that of a plugin that is gone by any
// event, since it holds nobody back.
func (h *hints) unasked(pod *state.QueuedPod, name string) bool {
	switch name {
	case Enforcement:
		return h.own(pod) && h.respecified()
	case Debt, Budget:
		return false
	}
	_, known := h.p.index[name]
	return !known
}

// own reports whether the event is an update of the pod itself.
func (h *hints) own(pod *state.QueuedPod) bool {
	return h.event.Resource == state.TargetPodResource && h.object.NewPod != nil && h.object.NewPod.UID == pod.Pod.UID
}

// respecified reports whether the event, an update of a pod, changed its spec. The scheduler's
// own writes of the status do not.
func (h *hints) respecified() bool {
	old := h.object.OldPod
	return old == nil || !equality.Semantic.DeepEqual(old.Object.Spec, h.object.NewPod.Object.Spec)
}

// worth asks a plugin's hints about one pod.
func (h *hints) worth(index int, events []*plugin.Event, pod *state.Pod) bool {
	for _, e := range events {
		if e.Hint == nil {
			return true
		}
		watch := clock.Start()
		hint := state.Queue
		var err error
		h.p.told(h.p.infos[index], abi.Hint, func() { hint, err = e.Hint(pod, h.object) })
		h.p.timings.add(index, abi.Hint, 0, abi.Success, watch.Elapsed())
		if err != nil || hint == state.Queue {
			return true
		}
	}
	return false
}

// matching returns the events that a plugin registered and that cover one.
func matching(info *plugin.Info, event state.ClusterEvent) []*plugin.Event {
	var out []*plugin.Event
	for i := range info.Events {
		if e := &info.Events[i]; e.Matches(event) {
			out = append(out, e)
		}
	}
	return out
}

// registered reports whether a plugin registered an event; a plugin that is gone
// holds nobody back.
func (p *Pipeline) registered(name string, event state.ClusterEvent) bool {
	index, known := p.index[name]
	return !known && name != Budget || known && slices.ContainsFunc(p.infos[index].Events, func(e plugin.Event) bool { return e.Matches(event) })
}
