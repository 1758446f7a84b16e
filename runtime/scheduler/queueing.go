package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/budgets"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// less and keys order the queue with the plugin that all profiles share. Swap may replace it.
func (s *Scheduler) less(a, b *state.QueuedPod) bool { return s.deps.Pipelines[0].Less(a, b) }

func (s *Scheduler) keys(pods []*state.QueuedPod) { s.deps.Pipelines[0].Keys(pods) }

// sameOrder refuses profiles that sort the queue differently.
func sameOrder(a, b *pipeline.Pipeline) error {
	first, second := a.QueueSort(), b.QueueSort()
	if x, y := first.Info().Name, second.Info().Name; x != y {
		return fmt.Errorf("scheduler: profiles %q and %q sort the queue by %s and %s; all must sort it in the same way", a.Profile(), b.Profile(), x, y)
	}
	if keyer, ok := first.(plugin.QueueKeyer); ok && !keyer.SameOrder(second) {
		return fmt.Errorf("scheduler: profiles %q and %q sort the queue by different modules or configurations of %s; all must sort it in the same way",
			a.Profile(), b.Profile(), first.Info().Name)
	}
	return nil
}

// gate calls the PreEnqueue plugins of each pod's profile, and holds back pods that preempt
// others, wait until a plugin is called again, or are over the budget of one.
func (s *Scheduler) gate(pods []*state.QueuedPod, out []queue.GateResult) {
	for profile, p := range s.byProfile(pods) {
		batch, at := pick(pods, profile)
		gates := make([]pipeline.Gate, len(batch))
		p.PreEnqueue(batch, gates)
		for j, i := range at {
			out[i] = queue.GateResult(gates[j])
		}
	}
	for i, pod := range pods {
		if out[i].Plugin != "" {
			s.recheck(pod.Pod.UID)
			continue
		}
		held, ok := s.heldBack(pod.Pod)
		if !ok {
			if held, ok = s.stalled(pod); !ok {
				held, ok = s.overBudget(pod)
			}
			if ok {
				s.recheck(pod.Pod.UID)
			}
		}
		if ok {
			out[i] = held
		}
	}
	if s.deps.Gated != nil {
		s.tellGates(pods, out)
	}
}

// tellGates reports what gate has found. The condition of a pod that preempts others tells of the attempt in which it began.
func (s *Scheduler) tellGates(pods []*state.QueuedPod, gates []queue.GateResult) {
	for i, pod := range pods {
		if forResize(pod.Pod) {
			continue
		}
		gate := gates[i]
		if gate.Reason == reasonPreempting {
			gate = queue.GateResult{}
		}
		s.safely(plugin.InWrite, "the report of pod "+pod.Pod.Key(), func() { s.deps.Gated(pod.Pod, gate.Plugin, gate.Reason) })
	}
}

// mayRetry charges the plugin that asked for another attempt after a time. A gate is charged before it is asked again, since nothing
// else bounds how often that is; other attempts wait for their turn behind the gates.
func (s *Scheduler) mayRetry(pod *state.QueuedPod) bool {
	p := s.pipelines[pod.Pod.Profile]
	if p == nil {
		return true
	}
	info := p.Plugin(pod.RetryBy)
	if c, pays := s.causeOf(info, pod.Pod.Namespace, budgets.Wakeups); pays && pod.GatedBy == pod.RetryBy {
		return s.budgets.Take(s.deps.Clock.Now(), c.payer, c.rates, string(pod.Pod.UID), false)
	}
	s.caused(info, pod.Pod, budgets.Wakeups)
	return true
}

// NextRetry returns when the next pod is tried again because a plugin asks for it; false if there is none. It must be called like Pending.
func (s *Scheduler) NextRetry() (time.Time, bool) { return s.queue.NextRetry() }

// hint asks the plugins that rejected each pod whether an event helps.
func (s *Scheduler) hint(event state.ClusterEvent, object state.Object, pods []*state.QueuedPod, out []state.Requeue) {
	for profile, p := range s.byProfile(pods) {
		batch, at := pick(pods, profile)
		answers := make([]state.Requeue, len(batch))
		by := p.Hint(event, object, batch, answers)
		if len(batch) == 1 { // maybe of those that came while it was in flight
			s.countHint(p, event, batch[0])
		}
		for j, i := range at {
			out[i] = answers[j]
			var info *plugin.Info
			if by != nil {
				info = by[j]
			}
			switch out[i] {
			case state.Immediately:
				s.caused(info, batch[j].Pod, budgets.Pending)
			case state.AfterBackoff:
				s.caused(info, batch[j].Pod, budgets.Wakeups)
			}
		}
	}
}

// The attached plugins of a namespace are asked about so many of the events that came while pods were in flight at once, and about
// one more with each pause. Each question may use the fuel of a cycle, and there may be any number of events, and of pods that come back.
const (
	maxHints  = 4
	hintPause = time.Second
)

// countHint counts that attached plugins were asked about an event for a pod, by namespace.
func (s *Scheduler) countHint(p *pipeline.Pipeline, event state.ClusterEvent, pod *state.QueuedPod) {
	if slices.ContainsFunc(slices.Concat(pod.Pending, pod.Rejectors), func(name string) bool {
		info := p.Plugin(name)
		return info != nil && info.Namespaces != nil && p.Helps(event, "", []string{name}, nil)
	}) {
		now, all := s.deps.Clock.Now(), s.hinted[pod.Pod.Namespace]
		if all.Before(now) {
			all = now
		}
		s.hinted[pod.Pod.Namespace] = all.Add(hintPause)
	}
}

// enoughHints has a pod retried, at the cost of the plugins that rejected it, instead of asking them about more events.
func (s *Scheduler) enoughHints(pod *state.QueuedPod) bool {
	return s.hinted[pod.Pod.Namespace].Sub(s.deps.Clock.Now()) > (maxHints-1)*hintPause && !s.config.OneLane
}

func (s *Scheduler) wants(event state.ClusterEvent) bool {
	for _, p := range s.deps.Pipelines {
		if p.Wants(event) {
			return true
		}
	}
	return false
}

// helps reports whether an event could help pods that wait for something.
func (s *Scheduler) helps(event state.ClusterEvent, rejection queue.Rejection) bool {
	p := s.pipelines[rejection.Profile]
	return p != nil && p.Helps(event, rejection.GatedBy, rejection.Rejectors, rejection.Pending)
}

// byProfile yields the pipelines of pods, in configured order.
func (s *Scheduler) byProfile(pods []*state.QueuedPod) func(yield func(string, *pipeline.Pipeline) bool) {
	return func(yield func(string, *pipeline.Pipeline) bool) {
		for _, p := range s.deps.Pipelines {
			for _, pod := range pods {
				if pod.Pod.Profile == p.Profile() {
					if !yield(p.Profile(), p) {
						return
					}
					break
				}
			}
		}
	}
}

func pick(pods []*state.QueuedPod, profile string) (batch []*state.QueuedPod, at []int) {
	for i, pod := range pods {
		if pod.Pod.Profile == profile {
			batch, at = append(batch, pod), append(at, i)
		}
	}
	return batch, at
}
