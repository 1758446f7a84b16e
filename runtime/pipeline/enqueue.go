package pipeline

import (
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Gate is the answer of the PreEnqueue plugins for one pod. A zero Gate admits.
type Gate struct {
	Plugin string
	Reason string
	// RetryAfter is how soon the plugin wants to be asked again; 0 leaves it to events.
	RetryAfter time.Duration
}

// maxGateReason is how much is kept of why a pod is gated, in bytes: each gated pod has its own.
const maxGateReason = 1 << 10

// PreEnqueue asks whether pods may enter the queue and sets out for each. A pod
// that is gated already is asked at the gating plugin first, since that is where
// it most likely still is.
func (p *Pipeline) PreEnqueue(pods []*state.QueuedPod, out []Gate) {
	clear(out)
	standing := make([]int, 0, len(pods))
	for i := range pods {
		if !p.Resizes(pods[i].Pod) { // it entered the cluster long ago
			standing = append(standing, i)
		}
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
	if share, _ := p.ShareOf(s.info.Name); !share.All() {
		ask = slices.DeleteFunc(ask, func(i int) bool { return !share.Has(pods[i].Pod) })
	}
	if len(ask) == 0 {
		return
	}
	batch, answers := make([]*state.Pod, len(ask)), make([]*plugin.Status, len(ask))
	for j, i := range ask {
		batch[j] = pods[i].Pod
	}
	watch := clock.Start()
	p.preEnqueueBatch(s, batch, answers)
	p.timings.add(s.index, abi.PreEnqueue, 0, abi.Success, watch.Elapsed())
	for j, i := range ask {
		if !answers[j].Success() {
			out[i] = Gate{Plugin: s.info.Name, Reason: plain.Line(answers[j].Message(), maxGateReason), RetryAfter: answers[j].RetryAfter}
		}
	}
}

// Timings appends what was measured of gates, keys and hints since the last call. Like
// gates it is for the loop's goroutine only.
func (p *Pipeline) Timings(out []report.Timing) []report.Timing {
	points := betweenCycles()
	p.faults(&p.timings, points[:])
	return p.timings.take(p, out)
}
