package queue

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Add adds new unbound pods and calls the gates once for all of them. A pod that is already in
// the queue is updated.
func (q *Queue) Add(pods ...*state.Pod) {
	q.enter(pods, state.ClusterEvent{Resource: state.UnscheduledPodResource, Action: state.Add})
}

func (q *Queue) enter(pods []*state.Pod, event state.ClusterEvent) {
	for _, p := range pods {
		if it, ok := q.pods[p.UID]; ok {
			q.update(it, it.latest, p)
		}
	}
	now := q.deps.Clock.Now()
	b := q.begin()
	for _, p := range pods {
		if it, ok := q.pods[p.UID]; !ok {
			it = &item{pod: state.QueuedPod{Pod: p, Timestamp: now}, latest: p}
			q.pods[p.UID] = it
			b.add(it, state.Immediately)
		} else if it.place == Nowhere { // twice in pods
			it.set(p)
		}
	}
	for _, it := range b.items { // also those that a gate will hold
		q.nominator.set(it.latest, it.latest.NominatedNode())
	}
	q.requeue(b, event)
	q.end(b)
}

// Update handles a new version of an unbound pod.
//
//   - In Active and the backoffs the pod is reordered.
//   - In Unschedulable and Gated the hints are asked whether the change helps.
//   - In flight, the change is kept as an event for when the pod returns, with its new version.
//   - An unknown pod is added. One whose UID differs from old's replaces old.
//
// If old is nil, the queue's version is the old one. Updates that change nothing (the same
// resource version) should not be passed here.
func (q *Queue) Update(old, pod *state.Pod) {
	if old != nil && old.UID != pod.UID {
		q.Delete(old.UID)
		old = nil
	}
	it, ok := q.pods[pod.UID]
	if !ok {
		q.enter([]*state.Pod{pod}, state.ClusterEvent{Resource: state.UnscheduledPodResource, Action: state.Add})
		return
	}
	if old == nil {
		old = it.latest
	}
	q.update(it, old, pod)
}

func (q *Queue) update(it *item, old, pod *state.Pod) {
	switch it.place {
	case Binding:
		it.latest = pod
	case InFlight:
		it.latest = pod
		for _, event := range pod.Changes(old, state.TargetPodResource) {
			q.events.add(event, state.Object{OldPod: old, NewPod: pod})
		}
	case Active, Backoff, ErrorBackoff:
		it.set(pod)
		q.nominator.update(old, pod)
		q.key(&it.pod)
		q.heapOf(it.place).fix(it)
	case Unschedulable, Gated:
		it.set(pod)
		q.nominator.update(old, pod)
		for _, event := range pod.Changes(old, state.TargetPodResource) {
			b := q.begin()
			b.add(it, state.Leave)
			q.ask(b, event, state.Object{OldPod: old, NewPod: pod})
			q.requeue(b, event)
			q.end(b)
			if it.place != Unschedulable && it.place != Gated {
				break
			}
		}
	}
}

// Delete removes a pod that was deleted, bound, or no longer belongs to this scheduler, from
// any place. It reports whether the queue had the pod. If the pod is in flight, its later
// return is ignored.
func (q *Queue) Delete(uid types.UID) bool {
	q.nominator.remove(uid)
	it, ok := q.pods[uid]
	if ok {
		q.put(it, Nowhere, state.ClusterEvent{Resource: state.UnscheduledPodResource, Action: state.Delete})
	}
	return ok
}

// key computes the sort key of one pod.
func (q *Queue) key(p *state.QueuedPod) {
	if q.deps.Key != nil {
		q.deps.Key([]*state.QueuedPod{p})
	}
}

// Rebuild restores the order after Less, or the keys that it compares, have changed for pods
// that were not updated: these, or all if which is nil.
func (q *Queue) Rebuild(which func(*state.Pod) bool) {
	if q.deps.Key != nil {
		var pods []*state.QueuedPod
		for _, h := range []ordered{q.active, q.backoff, q.errorBackoff} {
			for _, it := range h.list() {
				if which == nil || which(it.pod.Pod) {
					pods = append(pods, &it.pod)
				}
			}
		}
		if len(pods) > 0 {
			q.deps.Key(pods)
		}
	}
	for _, n := range q.active.all {
		n.pods.Rebuild()
	}
	q.backoff.Rebuild()
}
