package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// reasonPreempting is kube-scheduler's text for a pod that is held back.
const reasonPreempting = "waiting for the preemption for this pod to be finished"

// preemption is a pod whose victims are being evicted (KEP-4832). It is state of the loop:
// evictions run beside it, and their results come back through the inbox.
//
//	begin ─▶ held back ─▶ start ─▶ all victims but one ─▶ the last one ─▶ finished
//	                                      │ one fails           │ fails
//	                                      └──────────▶ the pod is retried at once
//
// Until the preemption has finished, or every victim is known to be terminating, the pod does
// not enter the queue: an attempt before that would find that it does not fit yet, and preempt
// other pods.
type preemption struct {
	by        string // the plugin that requested it
	preemptor *state.Pod
	node      string
	victims   []*state.Pod

	context context.Context // of the evictions; cancelled by the first failure
	cancel  context.CancelFunc
	begun   int // victims whose eviction has begun, from the first on
	running int // evictions of these that have not ended
	failed  bool

	// namespaceOwes and podOwes tell of the debts that are void unless a victim leaves.
	namespaceOwes, podOwes bool
}

// Preempted is a pod that had to make room for another.
type Preempted struct {
	Victim, Preemptor *state.Pod
	// Message is the note of the event on the victim, which has type Normal, reason Preempted
	// and action Preempting.
	Message string
}

// evicting is an eviction beside the loop.
type evicting struct {
	preemption *preemption
	victim     *state.Pod
}

// beginPreemption holds the decision's pod back until its preemption has finished. It must be
// called before the pod is parked, where an event may wake it immediately.
func (s *Scheduler) beginPreemption(ctx context.Context, p *pipeline.Pipeline, d *cycle.Decision) *preemption {
	wanted := &d.Nomination.Preemption
	if wanted.Empty() {
		return nil
	}
	e := &preemption{by: d.NominatedBy, preemptor: d.Pod.Pod, node: d.Nomination.NominatedNode}
	info := p.Plugin(e.by)
	for _, victim := range wanted.Victims {
		if victim.Object.DeletionTimestamp == nil && info.MayActOn(victim.Namespace) {
			e.victims = append(e.victims, victim)
		}
	}
	s.owe(p, e, wanted.ClearNominations)
	e.context, e.cancel = context.WithCancel(ctx)
	s.preempting[e.preemptor.UID] = e
	return e
}

// startPreemption starts a preemption. Victims that wait at Permit on the node return to the
// queue; the others are deleted. The last one is deleted after all others, because the pod may
// enter the queue once that one is terminating.
func (s *Scheduler) startPreemption(p *pipeline.Pipeline, e *preemption, cleared []types.UID) {
	info := p.Plugin(e.by)
	for _, uid := range cleared {
		if s.may(info, uid) {
			s.clearNomination(uid)
		}
	}
	var left []*state.Pod
	for _, victim := range e.victims {
		if s.reject(victim.UID, plugin.Fail(errors.New("waiting on permit for pod: preempted")).By(e.by)) {
			s.preempted(e, victim, true)
		} else if _, here := s.cache.Get(victim.UID); here { // and was not rejected together with another one
			left = append(left, victim)
		}
	}
	e.victims = left
	for range len(left) - 1 {
		s.evict(e)
	}
	s.continuePreemption(e)
}

// continuePreemption evicts the last victim after the others, and finishes the preemption when
// none is left.
func (s *Scheduler) continuePreemption(e *preemption) {
	switch {
	case e.running > 0:
	case e.begun < len(e.victims) && !e.failed:
		s.evict(e)
	default:
		s.finishPreemption(e)
	}
}

// evict begins the eviction of the next victim. A victim whose binding cycle can be stopped is
// not deleted.
func (s *Scheduler) evict(e *preemption) {
	victim := e.victims[e.begun]
	e.begun++
	e.running++
	s.evictions++
	number := s.evictions
	s.evicting[number] = evicting{e, victim}
	var interruption *pipeline.Interruption
	if b := s.bindingOf(victim.UID); b != nil {
		interruption = b.Interruption()
	}
	s.deps.Spawn(func() {
		result := &inbox.Evicted{Eviction: number, Stopped: interruption.Interrupt(fmt.Errorf("preempted by %s", e.by))}
		if !result.Stopped {
			var err error
			if caught := plugin.Guard(plugin.InEviction, "the eviction of pod "+victim.Key(), s.deps.Panicked, func() {
				s.fault("eviction", victim.Key())
				err = s.deps.Evictor.Evict(e.context, e.eviction(victim))
			}); caught != nil {
				err = caught
			}
			if err != nil {
				result.Err = err.Error()
			}
		}
		s.post(result)
	})
}

func (e *preemption) eviction(victim *state.Pod) objects.Eviction {
	return objects.Eviction{
		Victim: victim, Preemptor: e.preemptor,
		Condition: v1.PodCondition{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler,
			ObservedGeneration: victim.Object.Generation,
			Message:            fmt.Sprintf("%s: preempting to accommodate a higher priority pod", e.preemptor.Profile),
		},
	}
}

// evicted handles the result of an eviction. After a failure the running evictions are
// cancelled, and the last one is not begun.
func (s *Scheduler) evicted(number uint64, stopped bool, err error) {
	r, ok := s.evicting[number]
	if !ok {
		panic(fmt.Sprintf("BUG: there is no running eviction %d", number))
	}
	delete(s.evicting, number)
	e, victim := r.preemption, r.victim
	e.running--
	switch {
	case err == nil:
		s.preempted(e, victim, stopped)
	case !e.failed: // later ones are cancelled
		s.deps.Log.Error("pod could not be preempted", "pod", victim.Key(), "node", e.node, "preemptor", e.preemptor.Key(), "error", err)
		e.failed = true
		e.cancel()
	}
	if err != nil && strings.Contains(err.Error(), objects.ErrUnanswered.Error()) { // of a recording, only the text is left
		e.namespaceOwes, e.podOwes = false, false
	}
	s.continuePreemption(e)
}

// preempted reports a pod that has made room, or is about to.
func (s *Scheduler) preempted(e *preemption, victim *state.Pod, inMemory bool) {
	e.namespaceOwes, e.podOwes = false, false
	message := fmt.Sprintf("Preempted by pod %v on node %v", e.preemptor.UID, e.node)
	if inMemory {
		message += " (in kube-scheduler memory)."
	}
	s.deps.Outlet.Preempted(Preempted{Victim: victim, Preemptor: e.preemptor, Message: message})
}

// finishPreemption lets the pod enter the queue again. If a victim could not be evicted, there
// may never be an event for the pod, so it is retried after its backoff, because the eviction
// may fail again.
func (s *Scheduler) finishPreemption(e *preemption) {
	e.cancel()
	uid := e.preemptor.UID
	if s.preempting[uid] == e {
		delete(s.preempting, uid)
	}
	if e.failed {
		s.takeBack(e)
		s.queue.Retry(uid)
	} else {
		s.queue.Ungate(uid, e.by)
	}
}

// heldBack gates a preempting pod while a victim is not known to be terminating.
func (s *Scheduler) heldBack(pod *state.Pod) (queue.GateResult, bool) {
	e := s.preempting[pod.UID]
	if e == nil {
		return queue.GateResult{}, false
	}
	for _, victim := range e.victims {
		if now, here := s.cache.Get(victim.UID); here && now.Object.DeletionTimestamp == nil {
			return queue.GateResult{Plugin: e.by, Reason: reasonPreempting}, true
		}
	}
	return queue.GateResult{}, false
}

// clearNomination clears a pod's nomination. When the watch delivers the change, the pod is
// woken to look for another node, and so are the pods that left room for it.
func (s *Scheduler) clearNomination(uid types.UID) {
	if pod, _ := s.queue.Get(uid); pod != nil {
		s.queue.ClearNomination(uid)
		s.deps.Outlet.NominationCleared(pod.Pod)
	}
}

// noEvictor is the Evictor of a scheduler that cannot delete pods.
type noEvictor struct{}

func (noEvictor) Evict(context.Context, objects.Eviction) error {
	return errors.New("no evictor is configured")
}
