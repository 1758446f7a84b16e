package queue

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Move handles a cluster event: it moves parked and gated pods that the event could help, and
// keeps the event for pods in flight until they return. It calls Hint at most once. A wildcard
// event moves every parked pod; if its object names a pod, only that one. If precheck is not
// nil, parked and gated pods for which it returns false stay; the event is still kept for pods
// in flight.
func (q *Queue) Move(event state.ClusterEvent, object state.Object, precheck func(*state.Pod) bool) {
	if !event.WildCard() && q.deps.Wants != nil && !q.deps.Wants(event) {
		return
	}
	var own *item // an update may help the pod itself, whatever it waits for
	if object.NewPod != nil {
		own = q.pods[object.NewPod.UID]
	}
	b := q.begin()
	for _, place := range [...]Place{Unschedulable, Gated} {
		if !q.open(place, event) && (own == nil || own.place != place) {
			continue
		}
		for it := q.listOf(place).first; it != nil; it = it.next {
			if (it.kind.open || it == own) && (precheck == nil || precheck(it.latest)) {
				b.add(it, state.Leave)
			}
		}
	}
	q.move(b, event, object)
	q.end(b)
}

func (q *Queue) move(b *batch, event state.ClusterEvent, object state.Object) {
	q.ask(b, event, object)
	q.requeue(b, event)
	q.record(event, object)
}

// Activate moves pods to Active immediately, even during a backoff, unless a gate holds them. A
// pod in flight is retried as soon as its backoff allows. Unknown pods are ignored.
func (q *Queue) Activate(uids []types.UID) { q.activate(uids, state.Immediately) }

// Retry activates one pod after its error backoff: what the pod needed has failed, and may fail
// again.
func (q *Queue) Retry(uid types.UID) { q.activate([]types.UID{uid}, state.AfterBackoff) }

func (q *Queue) activate(uids []types.UID, when state.Requeue) {
	event := state.EventForceActivate()
	b := q.begin()
	for _, uid := range uids {
		it, ok := q.pods[uid]
		if !ok {
			continue
		}
		switch it.place {
		case Unschedulable, Gated:
			if !slices.Contains(b.items, it) {
				it.failed = when == state.AfterBackoff
				b.add(it, when)
			}
		case Backoff, ErrorBackoff:
			if when == state.Immediately {
				q.put(it, Active, event)
			}
		case InFlight:
			q.record(event, state.Object{NewPod: it.latest})
		}
	}
	q.requeue(b, event)
	q.end(b)
}

// Release retries the pods that one of the plugins rejected or gates, because it has changed, was
// removed, or works again. Pods in flight are retried too, if they return. It looks at each pod
// once, however many plugins there are.
func (q *Queue) Release(plugins ...string) {
	q.ReleaseOnly(func(*state.Pod) bool { return true }, plugins...)
}

// ReleaseOnly is Release for some of the pods. Of pods in flight all are retried.
func (q *Queue) ReleaseOnly(of func(*state.Pod) bool, plugins ...string) {
	event := state.EventPluginChange()
	named := make(map[string]bool, len(plugins))
	for _, name := range plugins {
		named[name] = true
	}
	isNamed := func(name string) bool { return named[name] }
	b := q.begin()
	for it := q.parked.first; it != nil; it = it.next {
		if (slices.ContainsFunc(it.pod.Rejectors, isNamed) || slices.ContainsFunc(it.pod.Pending, isNamed)) && of(it.pod.Pod) {
			b.add(it, state.AfterBackoff)
		}
	}
	for it := q.gated.first; it != nil; it = it.next {
		if named[it.pod.GatedBy] && of(it.pod.Pod) {
			b.add(it, state.AfterBackoff)
		}
	}
	q.requeue(b, event)
	for _, name := range plugins {
		q.record(event, state.Object{New: state.PluginName(name)})
	}
	q.end(b)
}

// ReleaseGated asks the gates again about some of the pods that plugins gate.
func (q *Queue) ReleaseGated(of func(*state.Pod) bool, plugins ...string) {
	b := q.begin()
	for it := q.gated.first; it != nil; it = it.next {
		if slices.Contains(plugins, it.pod.GatedBy) && of(it.pod.Pod) {
			b.add(it, state.AfterBackoff)
		}
	}
	q.requeue(b, state.EventPluginChange())
	q.end(b)
}

func rejectedBy(p *state.QueuedPod, plugin string) bool {
	return slices.Contains(p.Rejectors, plugin) || slices.Contains(p.Pending, plugin)
}

// Ungate parks a pod that its gate has released, without trying it: the pod now waits for
// events that help with its rejectors. It does nothing unless that gate holds the pod. A gate
// that registers an event for its pods does not need Ungate.
func (q *Queue) Ungate(uid types.UID, gate string) {
	it, ok := q.pods[uid]
	if !ok || it.place != Gated || it.pod.GatedBy != gate {
		return
	}
	p := &it.pod
	p.GatedBy, p.GateReason = "", ""
	p.Rejectors = slices.DeleteFunc(slices.Clone(p.Rejectors), func(name string) bool { return name == gate })
	p.Timestamp = q.deps.Clock.Now() // parked pods are in the order of timestamps
	q.put(it, Unschedulable, reason("Ungate"))
}

// batch has the pods to move, with the effect of the event for each, and scratch space for
// calling plugins. A queue has one, used from begin to end.
type batch struct {
	items   []*item
	answers []state.Requeue

	pods  []*state.QueuedPod
	at    []int // index in items of pods[i]
	hints []state.Requeue
	gates []GateResult
}

func (q *Queue) begin() *batch { return &q.batch }

// end empties the batch, so that it does not keep pods alive.
func (q *Queue) end(b *batch) {
	clear(b.items)
	b.items, b.answers = b.items[:0], b.answers[:0]
	b.reset()
}

func (b *batch) add(it *item, answer state.Requeue) {
	b.items = append(b.items, it)
	b.answers = append(b.answers, answer)
}

func (b *batch) reset() {
	clear(b.pods)
	clear(b.hints)
	clear(b.gates)
	b.pods, b.at, b.hints, b.gates = b.pods[:0], b.at[:0], b.hints[:0], b.gates[:0]
}

func (b *batch) push(i int) {
	b.pods = append(b.pods, &b.items[i].pod)
	b.at = append(b.at, i)
}

// ask sets the answers of a batch. It calls Hint only if needed: a pod without rejectors is
// always retried, because no event would ever come for it.
func (q *Queue) ask(b *batch, event state.ClusterEvent, object state.Object) {
	for i, it := range b.items {
		p := &it.pod
		switch {
		case len(p.Rejectors) == 0 && len(p.Pending) == 0:
			b.answers[i] = state.AfterBackoff
		case event.WildCard() && !concerns(object, it):
			b.answers[i] = state.Leave
		case event.WildCard(): // the gates of a gated pod decide
			b.answers[i] = state.AfterBackoff
		default:
			b.push(i)
			b.hints = append(b.hints, state.Leave)
		}
	}
	if len(b.pods) > 0 {
		q.deps.Hint(event, object, b.pods, b.hints)
	}
	for i, at := range b.at {
		b.answers[at] = b.hints[i]
	}
	b.reset()
}

// concerns reports whether a wildcard event concerns the pod: its object is the pod or a plugin
// that rejected the pod, or it has no object and concerns all pods.
func concerns(object state.Object, it *item) bool {
	if object.NewPod != nil {
		return object.NewPod.UID == it.latest.UID
	}
	if name, ok := object.New.(state.PluginName); ok {
		return rejectedBy(&it.pod, string(name))
	}
	return object.NewNode == nil && object.New == nil
}

// requeue moves the pods of a batch according to their answers, or to Gated.
func (q *Queue) requeue(b *batch, event state.ClusterEvent) {
	for i, answer := range b.answers {
		if answer != state.Leave {
			b.push(i)
			b.gates = append(b.gates, GateResult{})
		}
	}
	if len(b.pods) == 0 {
		return
	}
	q.deps.Gate(b.pods, b.gates)
	admitted := 0
	for i, at := range b.at {
		if it := b.items[at]; q.gate(it, b.gates[i], event) {
			b.pods[admitted], b.at[admitted] = &it.pod, at
			admitted++
		}
	}
	if admitted > 0 && q.deps.Key != nil {
		q.deps.Key(b.pods[:admitted])
	}
	now := q.deps.Clock.Now()
	for _, at := range b.at[:admitted] {
		it := b.items[at]
		switch {
		case b.answers[at] != state.AfterBackoff || !backsOff(&it.pod, now):
			q.put(it, Active, event)
		case it.failed:
			q.put(it, ErrorBackoff, event)
		default:
			q.put(it, Backoff, event)
		}
	}
	b.reset()
}

// gate records the result of the gates and reports whether the pod is admitted. The gating
// plugin becomes a rejector of the pod, so that its hints are called.
func (q *Queue) gate(it *item, result GateResult, event state.ClusterEvent) bool {
	p := &it.pod
	p.GatedBy, p.GateReason = result.Plugin, result.Reason
	if result.Plugin == "" {
		p.GateReason = ""
		p.RetryAt, p.RetryBy = time.Time{}, ""
		return true
	}
	if result.RetryAfter > 0 {
		p.RetryAt, p.RetryBy = q.deps.Clock.Now().Add(result.RetryAfter), result.Plugin
	} else if p.RetryBy == result.Plugin { // it does not ask for it any more
		p.RetryAt, p.RetryBy = time.Time{}, ""
	}
	if i, found := slices.BinarySearch(p.Rejectors, result.Plugin); !found && !slices.Contains(p.Pending, result.Plugin) {
		p.Rejectors = slices.Insert(slices.Clip(p.Rejectors), i, result.Plugin)
	}
	it.failed, p.Flushed = false, false
	if it.place != Gated {
		q.put(it, Gated, event)
		return false
	}
	q.unwait(it)
	q.wait(it)
	return false
}
