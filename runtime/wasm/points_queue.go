package wasm

import (
	"bytes"
	"context"
	"log/slog"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

var (
	_ plugin.PreEnqueue = (*Plugin)(nil)
	_ plugin.QueueKeyer = (*Plugin)(nil)
	_ plugin.Hinter     = (*Plugin)(nil)
)

// PreEnqueue implements plugin.PreEnqueue.
func (p *Plugin) PreEnqueue(pods []*state.Pod, out []*plugin.Status) {
	mine, at := p.concerned(pods)
	if !p.declared[abi.PreEnqueue] || len(mine) == 0 {
		return
	}
	var v plugin.Verdicts
	v.Reset(len(mine))
	answer, f := p.aux.call(context.Background(), &auxCall{point: abi.PreEnqueue, pods: mine, verdicts: &v}, false)
	all := answer.status
	if f != nil {
		all = p.faults.status(f, mine...)
	}
	for j, i := range at {
		switch {
		case all != nil:
			out[i] = all
		case f == nil && v.Codes[j] != abi.Success:
			out[i] = plugin.NewStatus(v.Codes[j], v.Texts(j)...)
		}
	}
}

// concerned returns the pods that the plugin is for, and their positions.
func (p *Plugin) concerned(pods []*state.Pod) (mine []*state.Pod, at []int) {
	for i, pod := range pods {
		if p.applies(pod) {
			mine, at = append(mine, pod), append(at, i)
		}
	}
	return mine, at
}

// Keys implements plugin.QueueKeyer (ABI-5.10).
func (p *Plugin) Keys(queued []*state.QueuedPod) {
	pods := make([]*state.Pod, len(queued))
	for i, q := range queued {
		pods[i] = q.Pod
	}
	keys := make([][]byte, len(queued))
	answer, f := p.aux.call(context.Background(), &auxCall{point: abi.QueueSort, pods: pods, queued: queued, keys: keys}, false)
	if f != nil {
		_ = p.faults.status(f, pods...)
		return // the pods keep their keys (ABI-5.11)
	}
	if answer.status != nil {
		p.journal.record(p.aux.between.at(p.deps.Clock.Now()), slog.LevelError, "plugin returned no queue keys", answer.status.Message())
		return
	}
	for i, q := range queued {
		q.SortKey = keys[i]
	}
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
	mine, at := p.concerned(pods)
	if !p.declared[abi.Hint] || len(mine) == 0 || !p.seesEvent(&object) {
		return
	}
	var v plugin.Verdicts
	v.Reset(len(mine))
	answer, f := p.aux.call(context.Background(), &auxCall{
		point: abi.Hint, pods: mine, verdicts: &v, event: &clusterEvent{event, object},
	}, false)
	if f != nil {
		_ = p.faults.status(f, mine...)
		return
	}
	if answer.code != abi.Success {
		return
	}
	for j, i := range at {
		if v.Codes[j] == abi.Skip {
			out[i] = state.QueueSkip
		}
	}
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
