package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// ReleasePlugin says that a plugin works again, has changed or was removed: the pods that it
// rejected or gates are retried.
func (s *Scheduler) ReleasePlugin(name string) { s.post(&inbox.Release{Plugin: name}) }

// retry is when a plugin whose breaker is not closed is retried for pods of a namespace.
type retry struct {
	lane
	at time.Time
}

// lane is a breaker and a namespace; without a name it is all namespaces that have no lane of their own.
type lane struct {
	breaker   plugin.Breaker
	namespace string
}

// covers returns whether a pod belongs to the lane.
func (l lane) covers() func(*state.Pod) bool {
	if l.namespace != "" {
		return func(pod *state.Pod) bool { return pod.Namespace == l.namespace }
	}
	own := make(map[string]bool)
	for _, r := range l.breaker.Retries() {
		own[r.Namespace] = true
	}
	return func(pod *state.Pod) bool { return !own[pod.Namespace] }
}

// retries returns when plugins are retried whose breakers are not closed, for those whose pods were not
// released yet, in the order of the profiles.
func (s *Scheduler) retries() (out []retry) {
	for _, p := range s.deps.Pipelines {
		for _, b := range p.Breakers() {
			for _, r := range b.Retries() {
				if l := (lane{b, r.Namespace}); !s.retried[l].Equal(r.At) {
					out = append(out, retry{l, r.At})
				}
			}
		}
	}
	return out
}

// retryPlugins releases the pods of plugins that are due: a pod that is held back only by such
// a plugin would otherwise never call it again. Of the pods that fail because of it, only one of each namespace is
// tried.
func (s *Scheduler) retryPlugins() {
	now := s.deps.Clock.Now()
	for _, r := range s.retries() {
		if !now.Before(r.at) && !s.retried[r.lane].Equal(r.at) { // profiles may share a breaker
			s.retried[r.lane] = r.at
			s.probe(r.lane, s.queue.ReleaseOnly)
		}
	}
}

// probe releases pods of a plugin in a lane, but of those that are stalled only one.
func (s *Scheduler) probe(l lane, release func(of func(*state.Pod) bool, plugins ...string)) {
	covers := l.covers()
	s.probing.breaker, s.probing.covers = l.breaker, covers
	release(covers, l.breaker.Info().Name)
	s.probing.breaker, s.probing.covers = nil, nil
}

// openFor returns the breaker of the plugin that made the last attempt for a pod fail, if it is not
// closed for the pod's namespace.
func (s *Scheduler) openFor(pod *state.QueuedPod) plugin.Breaker {
	if pod.Errors == 0 || len(pod.Rejectors) == 0 {
		return nil
	}
	return s.openOf(pod.Pod, pod.Rejectors...)
}

// openOf returns the first breaker of some plugins that is not closed for a pod's namespace; nil if there is none.
func (s *Scheduler) openOf(pod *state.Pod, plugins ...string) plugin.Breaker {
	p := s.pipelines[pod.Profile]
	if p == nil {
		return nil
	}
	for _, b := range p.Breakers() {
		if slices.Contains(plugins, b.Info().Name) {
			if _, open := b.RetryAt(pod.Namespace); open {
				return b
			}
		}
	}
	return nil
}

// stalled holds back a pod whose last attempt failed because of a plugin with an open breaker: it
// would fail again, and others would wait for it. When the plugin is due, one such pod is let through.
func (s *Scheduler) stalled(pod *state.QueuedPod) (queue.GateResult, bool) {
	b := s.openFor(pod)
	if b == nil {
		return queue.GateResult{}, false
	}
	if b == s.probing.breaker && s.probing.covers(pod.Pod) {
		s.probing.breaker = nil
		return queue.GateResult{}, false
	}
	reason := "waiting until the plugin is called again: it failed too often for pods of namespace " + pod.Pod.Namespace
	if !slices.ContainsFunc(b.Retries(), func(r plugin.Retry) bool { return r.Namespace == pod.Pod.Namespace }) {
		reason = "waiting until the plugin is called again: it failed too often for pods of several namespaces"
	}
	return queue.GateResult{Plugin: b.Info().Name, Reason: reason}, true
}

// Stalled returns when the next pod is let through of those that wait until a plugin is called again; false if none waits. It
// must be called like Pending.
func (s *Scheduler) Stalled() (until time.Time, ok bool) {
	if len(s.retries()) == 0 {
		return time.Time{}, false
	}
	for place, pod := range s.queue.All() {
		if place != queue.Gated {
			continue
		}
		if b := s.openFor(pod); b != nil {
			if at, _ := b.RetryAt(pod.Pod.Namespace); !ok || at.Before(until) {
				until, ok = at, true
			}
		}
	}
	return until, ok
}

// probeAgain lets another stalled pod through for each plugin that is due: the attempt for the last
// one, of the same namespace, has ended, or the pod is gone, perhaps without a call of the plugin.
func (s *Scheduler) probeAgain(profile, namespace string) {
	p := s.pipelines[profile]
	if p == nil {
		return
	}
	now := s.deps.Clock.Now()
	for _, b := range p.Breakers() {
		l := lane{breaker: b}
		if slices.ContainsFunc(b.Retries(), func(r plugin.Retry) bool { return r.Namespace == namespace }) {
			l.namespace = namespace
		}
		if at, open := b.RetryAt(namespace); open && !now.Before(at) && s.retried[l].Equal(at) {
			s.probe(l, s.queue.ReleaseGated)
		}
	}
}

// leave removes a pod from the queue.
func (s *Scheduler) leave(uid types.UID) {
	pod, _ := s.queue.Get(uid)
	var left *state.Pod
	if pod != nil && pod.Errors > 0 {
		left = pod.Pod
	}
	s.queue.Delete(uid)
	s.budgets.Forget(string(uid))
	if left != nil {
		s.probeAgain(left.Profile, left.Namespace)
	}
}

// chargeStarts charges breakers for starts that no fault is charged for. Each is an event itself: a replay that begins in the
// middle has other instances.
func (s *Scheduler) chargeStarts(ctx context.Context) {
	if s.broken != nil {
		return
	}
	for _, p := range s.deps.Pipelines {
		for _, b := range p.Breakers() {
			for _, started := range b.TakeStarts() {
				s.Handle(ctx, &inbox.Start{
					Profile: p.Profile(), Plugin: b.Info().Name, Namespace: started.Namespace, Point: started.Point.String(), Fuel: uint64(started.Fuel),
				})
			}
		}
	}
}

// charge charges a breaker.
func (s *Scheduler) charge(e *inbox.Start) {
	p := s.pipelines[e.Profile]
	if p == nil {
		return
	}
	for _, b := range p.Breakers() {
		for point := range abi.NumPoints {
			if b.Info().Name == e.Plugin && point.String() == e.Point {
				b.Charge(plugin.Start{Namespace: e.Namespace, Point: point, Fuel: int64(e.Fuel)})
			}
		}
	}
}

// released returns the times for which pods of a plugin were released, by namespace.
func (s *Scheduler) released(b plugin.Breaker) map[string]time.Time {
	var out map[string]time.Time
	for l, at := range s.retried {
		if l.breaker == b {
			if out == nil {
				out = make(map[string]time.Time)
			}
			out[l.namespace] = at
		}
	}
	return out
}

// resume restores a breaker. A recording of an earlier version has one time for all of its namespaces.
func (s *Scheduler) resume(e *inbox.Breaker) error {
	p := s.pipelines[e.Profile]
	if p == nil {
		return fmt.Errorf("there is no profile %q", e.Profile)
	}
	for _, b := range p.Breakers() {
		if b.Info().Name != e.Plugin {
			continue
		}
		released, err := b.Resume(e.Carried)
		if err != nil {
			return fmt.Errorf("plugin %q: %w", e.Plugin, err)
		}
		for namespace, at := range released {
			s.retried[lane{b, namespace}] = at
		}
	}
	return nil
}
