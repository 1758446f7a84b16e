package wasm

import (
	"context"
	"slices"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// Faults are counted by the namespace of the pod, and a call outside of cycles may be about pods of many
// namespaces. One call is made about all of them, as long as none fails. Otherwise the pods of
// each namespace are asked about in a call of their own.

// inParts makes a call about the pods at some positions. request returns the call about pods at positions, and
// take takes in how it ended.
func (a *auxPool) inParts(pods []*state.Pod, at []int, request func(at []int) *auxCall, take func(at []int, c *auxCall, out reply, f *fault.Fault)) {
	var together, alone [][]int
	for _, part := range byNamespace(pods, at) {
		namespace := pods[part[0]].Namespace
		if _, open := a.breaker.RetryAt(namespace); open || a.breaker.Overspent(namespace) {
			alone = append(alone, part)
		} else {
			together = append(together, part)
		}
	}
	if len(together) == 1 {
		alone = append(together, alone...)
	} else if len(together) > 1 {
		all := slices.Concat(together...)
		slices.Sort(all)
		c := request(all)
		out, f := a.run(context.Background(), c, false)
		a.counts.fault(c.point, f)
		a.chargeTogether(pods, together, c, f)
		if f != nil && f.Kind.OfGuest() {
			a.blame(pods, together, c, f, request, take)
		} else {
			if f == nil {
				a.endedTogether(pods, together, c, nil, c.large)
			}
			take(all, c, out, f)
		}
	}
	for _, part := range alone {
		c := request(part)
		out, f := a.call(context.Background(), c, false)
		take(part, c, out, f)
	}
}

// chargeTogether charges the namespaces of a call, in equal parts, for starts that no fault is charged for.
func (a *auxPool) chargeTogether(pods []*state.Pod, parts [][]int, c *auxCall, f *fault.Fault) {
	for _, part := range parts {
		a.starts.add(pods[part[0]].Namespace, c.point, c.started/int64(len(parts)))
	}
	if c.large || f != nil && f.Kind.OfGuest() && f.Kind != fault.Starting {
		a.starts.pay(ofAux)
	}
}

// endedTogether tells the breaker how a call about pods of several namespaces ended. They share what it is charged.
func (a *auxPool) endedTogether(pods []*state.Pod, parts [][]int, c *auxCall, f *fault.Fault, lost bool) {
	starts := int64(0)
	if lost {
		starts = a.restartFuel(auxColumns) / int64(len(parts))
	}
	for _, part := range parts {
		a.breaker.Done(pods[part[0]].Namespace, breaker.OutcomeOf(c.point, f, c.used, starts))
	}
}

// blame makes a call that was faulted again for each namespace, to find the pods that cause the fault. If there is
// no fault then, it is that of all.
func (a *auxPool) blame(
	pods []*state.Pod, parts [][]int, all *auxCall, f *fault.Fault, request func(at []int) *auxCall, take func(at []int, c *auxCall, out reply, f *fault.Fault),
) {
	owed := int64(0)
	if f.Kind != fault.Starting {
		owed = a.restartFuel(auxColumns)
	}
	found := false
	for _, part := range parts {
		c := request(part)
		c.owed = owed
		out, of := a.call(context.Background(), c, false)
		if of != nil && of.Kind.OfGuest() {
			found, owed = true, 0
		}
		take(part, c, out, of)
	}
	if !found {
		a.endedTogether(pods, parts, all, f, f.Kind != fault.Starting)
	}
}

// byNamespace divides positions of pods by their namespaces, in the order of the first ones.
func byNamespace(pods []*state.Pod, at []int) (parts [][]int) {
	index := make(map[string]int)
	for _, i := range at {
		n, known := index[pods[i].Namespace]
		if !known {
			n = len(parts)
			index[pods[i].Namespace] = n
			parts = append(parts, nil)
		}
		parts[n] = append(parts[n], i)
	}
	return parts
}

// pick returns the elements at some positions.
func pick[T any](all []T, at []int) []T {
	out := make([]T, len(at))
	for j, i := range at {
		out[j] = all[i]
	}
	return out
}

// newVerdicts returns verdicts on n pods.
func newVerdicts(n int) *plugin.Verdicts {
	v := &plugin.Verdicts{}
	v.Reset(n)
	return v
}
