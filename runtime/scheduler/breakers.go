package scheduler

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// ReleasePlugin says that a plugin works again, has changed or was removed: the pods that it
// rejected or gates are retried.
func (s *Scheduler) ReleasePlugin(name string) { s.post(&inbox.Release{Plugin: name}) }

// retry is when a plugin with an open breaker is retried.
type retry struct {
	breaker plugin.Breaker
	at      time.Time
}

// retries returns when plugins with open breakers are retried, for those whose pods were not
// released yet, in the order of the profiles.
func (s *Scheduler) retries() (out []retry) {
	for _, p := range s.deps.Pipelines {
		for _, b := range p.Breakers() {
			if at, ok := b.RetryAt(); ok && !s.retried[b].Equal(at) {
				out = append(out, retry{b, at})
			}
		}
	}
	return out
}

// retryPlugins releases the pods of plugins that are due: a pod that is held back only by such
// a plugin would otherwise never call it again. Of the pods that fail because of it, only one is
// tried.
func (s *Scheduler) retryPlugins() {
	now := s.deps.Clock.Now()
	for _, r := range s.retries() {
		if !now.Before(r.at) && !s.retried[r.breaker].Equal(r.at) { // profiles may share a breaker
			s.retried[r.breaker] = r.at
			s.probe(r.breaker, func(plugin string) { s.queue.Release(plugin) })
		}
	}
}

// probe releases pods of a plugin, but of those that are stalled only one.
func (s *Scheduler) probe(b plugin.Breaker, release func(plugin string)) {
	s.probing = b
	release(b.Info().Name)
	s.probing = nil
}

// reasonStalled says why a pod is not tried.
const reasonStalled = "waiting until the plugin is called again: it failed too often"

// openFor returns the breaker of the plugin that made the last attempt for a pod fail, if it is not
// closed.
func (s *Scheduler) openFor(pod *state.QueuedPod) plugin.Breaker {
	if pod.Errors == 0 || len(pod.Rejectors) == 0 {
		return nil
	}
	return s.openOf(pod.Pod.Profile, pod.Rejectors...)
}

// openOf returns the first breaker of some plugins that is not closed; nil if there is none.
func (s *Scheduler) openOf(profile string, plugins ...string) plugin.Breaker {
	p := s.pipelines[profile]
	if p == nil {
		return nil
	}
	for _, b := range p.Breakers() {
		if slices.Contains(plugins, b.Info().Name) {
			if _, open := b.RetryAt(); open {
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
	if b == s.probing {
		s.probing = nil
		return queue.GateResult{}, false
	}
	return queue.GateResult{Plugin: b.Info().Name, Reason: reasonStalled}, true
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
			if at, _ := b.RetryAt(); !ok || at.Before(until) {
				until, ok = at, true
			}
		}
	}
	return until, ok
}

// probeAgain lets another stalled pod through for each plugin that is due: the attempt for the last
// one has ended, or the pod is gone, perhaps without a call of the plugin.
func (s *Scheduler) probeAgain(profile string) {
	p := s.pipelines[profile]
	if p == nil {
		return
	}
	now := s.deps.Clock.Now()
	for _, b := range p.Breakers() {
		if at, open := b.RetryAt(); open && !now.Before(at) && s.retried[b].Equal(at) {
			s.probe(b, s.queue.ReleaseGated)
		}
	}
}

// leave removes a pod from the queue.
func (s *Scheduler) leave(uid types.UID) {
	pod, _ := s.queue.Get(uid)
	profile := ""
	if pod != nil && pod.Errors > 0 {
		profile = pod.Pod.Profile
	}
	s.queue.Delete(uid)
	if profile != "" {
		s.probeAgain(profile)
	}
}
