package wasm

import (
	"bytes"
	"log/slog"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

var (
	_ plugin.PreEnqueue = (*Plugin)(nil)
	_ plugin.QueueKeyer = (*Plugin)(nil)
	_ plugin.Hinter     = (*Plugin)(nil)
)

// PreEnqueue implements plugin.PreEnqueue.
func (p *Plugin) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	mine := p.concerned(pods)
	if !p.declared[abi.PreEnqueue] || len(mine) == 0 {
		return
	}
	request := func(at []int) *auxCall {
		c := &auxCall{point: abi.PreEnqueue, pods: pick(pods, at), verdicts: newVerdicts(len(at))}
		if p.manifest.Minor() > 0 {
			c.retries = make([]int64, len(at))
		}
		return c
	}
	p.aux.inParts(pods, mine, request, func(at []int, c *auxCall, answer reply, f *fault.Fault) {
		all, v := answer.status, c.verdicts
		if f != nil {
			all = p.faults.status(f, c.pods...)
		}
		for j, i := range at {
			switch {
			case all != nil:
				out[i] = all
			case f == nil && v.Codes[j] != abi.Success:
				out[i] = plugin.NewStatus(v.Codes[j], v.Texts(j)...)
				if c.retries != nil {
					out[i].RetryAfter = abi.RetryAfter(uint64(c.retries[j]))
				}
			}
		}
	})
}

// concerned returns the positions of the pods that the plugin is for.
func (p *Plugin) concerned(pods []*state.Pod) (at []int) {
	for i, pod := range pods {
		if p.applies(pod) {
			at = append(at, i)
		}
	}
	return at
}

// Keys implements plugin.QueueKeyer (ABI-5.10).
func (p *Plugin) Keys(queued []*state.QueuedPod) {
	pods, at := make([]*state.Pod, len(queued)), make([]int, len(queued))
	for i, q := range queued {
		pods[i], at[i] = q.Pod, i
	}
	request := func(at []int) *auxCall {
		return &auxCall{point: abi.QueueSort, pods: pick(pods, at), queued: pick(queued, at), keys: make([][]byte, len(at))}
	}
	p.aux.inParts(pods, at, request, func(at []int, c *auxCall, answer reply, f *fault.Fault) {
		if f != nil {
			_ = p.faults.status(f, c.pods...)
			return // the pods keep their keys (ABI-5.11)
		}
		if answer.status != nil {
			p.journal.record(p.aux.between.at(p.deps.Clock.Now()), slog.LevelError, "plugin returned no queue keys", answer.status.Message())
			return
		}
		for j, i := range at {
			queued[i].SortKey = c.keys[j]
		}
	})
}

// Less implements plugin.QueueSort: by key, then by time and UID. Pods without a key come
// last, in the order of PrioritySort.
func (p *Plugin) Less(a, b *state.QueuedPod) bool {
	switch {
	case (a.SortKey == nil) != (b.SortKey == nil):
		return a.SortKey != nil
	case a.SortKey == nil:
		if a.Pod.Priority != b.Pod.Priority {
			return a.Pod.Priority > b.Pod.Priority
		}
	default:
		if c := bytes.Compare(a.SortKey, b.SortKey); c != 0 {
			return c < 0
		}
	}
	if !a.Timestamp.Equal(b.Timestamp) {
		return a.Timestamp.Before(b.Timestamp)
	}
	return a.Pod.UID < b.Pod.UID
}

// SameOrder implements plugin.QueueKeyer.
func (p *Plugin) SameOrder(o plugin.QueueSort) bool {
	other, ok := o.(*Plugin)
	return ok && other.info.Digest == p.info.Digest && bytes.Equal(other.config.Config, p.config.Config)
}

// Hint implements plugin.Hinter. Without the point, after a fault, and for pods that the plugin
// may not see, every registered event means Queue (ABI-5.12).
func (p *Plugin) Hint(event state.ClusterEvent, object state.Object, pods []*state.Pod, out []state.Hint) {
	mine := p.concerned(pods)
	if !p.declared[abi.Hint] || len(mine) == 0 || !p.seesEvent(&object) {
		return
	}
	request := func(at []int) *auxCall {
		return &auxCall{point: abi.Hint, pods: pick(pods, at), verdicts: newVerdicts(len(at)), event: &clusterEvent{event, object}}
	}
	p.aux.inParts(pods, mine, request, func(at []int, c *auxCall, answer reply, f *fault.Fault) {
		if f != nil {
			_ = p.faults.status(f, c.pods...)
			return
		}
		if answer.code != abi.Success {
			return
		}
		for j, i := range at {
			if c.verdicts.Codes[j] == abi.Skip {
				out[i] = state.QueueSkip
			}
		}
	})
}

// seesEvent reports whether the plugin may learn of an event. One about another namespace or a pod in it
// would tell it how many there are.
func (p *Plugin) seesEvent(object *state.Object) bool {
	for _, pod := range []*state.Pod{object.OldPod, object.NewPod} {
		if pod != nil && !p.applies(pod) {
			return false
		}
	}
	for _, other := range []any{object.Old, object.New} {
		if namespace, ok := other.(*v1.Namespace); ok && !p.projection.Sees(namespace.Name) {
			return false
		}
	}
	return true
}
