package pipeline

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Gate is the answer of the PreEnqueue plugins for one pod. A zero Gate admits.
type Gate struct {
	Plugin string
	Reason string
}

// PreEnqueue asks whether pods may enter the queue and sets out for each. A pod
// that is gated already is asked at the gating plugin first, since that is where
// it most likely still is.
func (p *Pipeline) PreEnqueue(pods []*state.QueuedPod, out []Gate) {
	clear(out)
	standing := make([]int, 0, len(pods))
	for i := range pods {
		standing = append(standing, i)
	}
	for _, s := range p.preEnqueue {
		var again []int
		for _, i := range standing {
			if pods[i].GatedBy == s.info.Name {
				again = append(again, i)
			}
		}
		p.gate(s, pods, again, out)
	}
	for _, s := range p.preEnqueue {
		var ask []int
		for _, i := range standing {
			if out[i].Plugin == "" && pods[i].GatedBy != s.info.Name {
				ask = append(ask, i)
			}
		}
		p.gate(s, pods, ask, out)
	}
}

// gate asks one plugin about the pods at the positions in ask.
func (p *Pipeline) gate(s stage[plugin.PreEnqueue], pods []*state.QueuedPod, ask []int, out []Gate) {
	if len(ask) == 0 {
		return
	}
	batch, answers := make([]*state.Pod, len(ask)), make([]*plugin.Status, len(ask))
	for j, i := range ask {
		batch[j] = pods[i].Pod
	}
	watch := clock.Start()
	s.plugin.PreEnqueue(batch, answers)
	p.meter.add(s.index, abi.PreEnqueue, 0, watch)
	for j, i := range ask {
		if !answers[j].Success() {
			out[i] = Gate{Plugin: s.info.Name, Reason: answers[j].Message()}
		}
	}
}

// Hint says whether an event makes a parked pod worth another try. Only the
// plugins that rejected it are asked (KEP-4247). A hint that fails means yes. No
// event moves a gated pod but those that its gating plugin registered.
func (p *Pipeline) Hint(event state.ClusterEvent, object state.Object, pod *state.QueuedPod) state.Requeue {
	if pod.GatedBy != "" && !p.registered(pod.GatedBy, event) {
		return state.Leave
	}
	for _, name := range pod.Pending {
		if p.worth(name, event, object, pod.Pod) {
			return state.Immediately
		}
	}
	for _, name := range pod.Rejectors {
		if !slices.Contains(pod.Pending, name) && p.worth(name, event, object, pod.Pod) {
			return state.AfterBackoff
		}
	}
	return state.Leave
}

// registered reports whether a plugin registered an event; a plugin that is gone
// holds nobody back.
func (p *Pipeline) registered(name string, event state.ClusterEvent) bool {
	index, known := p.index[name]
	return !known || slices.ContainsFunc(p.infos[index].Events, func(e plugin.Event) bool { return e.Matches(event) })
}

func (p *Pipeline) worth(name string, event state.ClusterEvent, object state.Object, pod *state.Pod) bool {
	if name == Enforcement { // only another spec makes a difference
		return event.Resource == state.UnscheduledPodResource && object.NewPod != nil && object.NewPod.UID == pod.UID
	}
	index, known := p.index[name]
	if !known {
		return true // a plugin that is gone holds nobody back
	}
	events := p.infos[index].Events
	for i := range events {
		e := &events[i]
		if !e.Matches(event) {
			continue
		}
		if e.Hint == nil {
			return true
		}
		watch := clock.Start()
		hint, err := e.Hint(pod, object)
		p.meter.add(index, abi.Hint, 0, watch)
		if err != nil || hint == state.Queue {
			return true
		}
	}
	return false
}

// Timings appends what was measured of gates and hints, and the faults of all
// plugins, since the last call. Like gates it is for the loop's goroutine only.
func (p *Pipeline) Timings(out []report.Timing) []report.Timing {
	return p.faults(p.timings(&p.meter, out))
}
