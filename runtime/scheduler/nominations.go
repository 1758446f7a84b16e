package scheduler

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// A nomination promises room on a node, which pods of equal or lower priority do not get. Where plugins are
// attached to namespaces, what keeps a pod from being tried may be a tenant's to decide: a gate, a plugin
// that does not run, a finalizer. So the nomination of such a pod ends when the pod is gated, held or being
// deleted, or was not tried for a while. All others last as in kube-scheduler.

// nominationLasts is how long a pod that is not tried keeps its nomination. A preemption that has not
// finished keeps it longer.
const nominationLasts = time.Minute

// recheck has the nomination of a pod looked at when the current event is handled.
func (s *Scheduler) recheck(uid types.UID) { s.rechecked = append(s.rechecked, uid) }

// endNominations clears the nominations that end with the current event. It is called after the queue has
// handled it, since gates must not change the queue. That others may fit now may have more pods gated.
func (s *Scheduler) endNominations() {
	for len(s.rechecked) > 0 && s.queue.Nominations().Len() > 0 {
		uids := s.rechecked
		s.rechecked = nil
		s.endNominationsOf(uids)
	}
	s.rechecked = s.rechecked[:0]
}

// expireNominations clears the nominations of pods that were not tried for too long.
func (s *Scheduler) expireNominations() {
	if !s.anyAttached() {
		return
	}
	var nominated []types.UID
	for uid := range s.nominated {
		nominated = append(nominated, uid)
	}
	s.endNominationsOf(nominated)
}

func (s *Scheduler) endNominationsOf(uids []types.UID) {
	for _, uid := range uids {
		pod, place := s.queue.Get(uid)
		node := s.queue.NominatedNode(uid)
		if pod == nil || node == "" {
			continue
		}
		if at, ends := s.nominationEnd(pod, place); !ends || s.deps.Clock.Now().Before(at) {
			continue
		}
		s.deps.Log.Debug("nomination ends: the pod is gated, held, being deleted, or not tried", "pod", pod.Pod.Key(), "node", node)
		was := pod.Pod.Nominated(node) // its status may not say so yet
		s.clearNomination(uid)
		s.unnominated(was)
	}
}

// nominated yields the nominated pods.
func (s *Scheduler) nominated(yield func(types.UID) bool) {
	s.queue.Nominations().Nodes(func(_ string, pods []*state.Pod) bool {
		for _, pod := range pods {
			if !yield(pod.UID) {
				return false
			}
		}
		return true
	})
}

// nominationEnd returns when the nomination of a pod ends if nothing happens, the zero time for at once;
// false if it does not end by itself.
func (s *Scheduler) nominationEnd(pod *state.QueuedPod, place queue.Place) (at time.Time, ends bool) {
	p := s.pipelines[pod.Pod.Profile]
	if p == nil {
		return at, false
	}
	parked := place == queue.Unschedulable || place == queue.Gated
	preempts := s.preempting[pod.Pod.UID] != nil
	own, _ := p.Guests(pod.Pod)
	switch {
	case p.Held(pod.Pod):
		return at, true
	case own == nil:
		return at, false
	case pod.Pod.Object.DeletionTimestamp != nil:
		return at, true
	case place == queue.Gated && (!preempts || pod.GateReason != reasonPreempting):
		return at, true
	case parked && !preempts:
		return pod.Timestamp.Add(nominationLasts), true
	}
	return at, false
}

// anyAttached reports whether a profile has plugins that are attached to namespaces.
func (s *Scheduler) anyAttached() bool {
	for _, p := range s.deps.Pipelines {
		if p.AnyAttached() {
			return true
		}
	}
	return false
}

// nextNominationEnd returns when the next nomination ends.
func (s *Scheduler) nextNominationEnd() (next time.Time, ok bool) {
	if !s.anyAttached() {
		return next, false
	}
	for uid := range s.nominated {
		pod, place := s.queue.Get(uid)
		if pod == nil {
			continue
		}
		if at, ends := s.nominationEnd(pod, place); ends && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

// showNominations tells the cache which pods are nominated to nodes, if a plugin reads that, or one on trial.
func (s *Scheduler) showNominations() {
	onTrial := s.deps.TriesNominated != nil && s.deps.TriesNominated()
	if !onTrial && !slices.ContainsFunc(s.deps.Pipelines, (*pipeline.Pipeline).ReadsNominated) {
		return
	}
	for node, pods := range s.queue.ChangedNominations() {
		s.cache.Nominate(node, pods)
	}
}
