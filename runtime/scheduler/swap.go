package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// maxRetired is how many old sets of pipelines are kept for pods in flight.
const maxRetired = 2

// retired is a set of pipelines that were replaced and are still used by pods in flight.
type retired struct {
	pipelines []*pipeline.Pipeline
	drained   func()
}

// Left is told what becomes of the old pipelines, on the loop. Both are optional.
type Left struct {
	// Replaced is called when only pods in flight use them, and Drained when no pod does any more.
	Replaced, Drained func()
}

// prepared is a set of pipelines that is to replace the current one.
type prepared struct {
	pipelines []*pipeline.Pipeline
	changed   []string
	left      Left
}

// Swap replaces the pipelines before the next attempt; a profile may keep its pipeline. changed
// names the plugins that were added, replaced, reconfigured or removed. Pods that they rejected
// or gate are retried, and the queue is reordered if its plugin is among them.
//
// Pods in flight continue with their plugins. Those that wait at Permit move to the new pipelines, if the
// plugins are the same that bind them. left is told when the old pipelines are no longer used. At most two old sets are kept:
// with a third, the pods that wait in the oldest one are rejected.
//
// Deps.Recorder gets recorded.
//
// # Errors
//
// The profiles are not those of the scheduler, or do not sort the queue in the same way. Then
// nothing is changed.
func (s *Scheduler) Swap(pipelines []*pipeline.Pipeline, changed []string, recorded inbox.Swap, left Left) error {
	if len(pipelines) != len(s.profiles) {
		return fmt.Errorf("scheduler: %d profiles cannot replace %d", len(pipelines), len(s.profiles))
	}
	for i, p := range pipelines {
		if p.Profile() != s.profiles[i] {
			return fmt.Errorf("scheduler: profile %q cannot replace profile %q", p.Profile(), s.profiles[i])
		}
		if err := sameOrder(pipelines[0], p); err != nil {
			return err
		}
	}
	s.inbox.mu.Lock()
	s.inbox.prepared = append(s.inbox.prepared, prepared{slices.Clone(pipelines), slices.Clone(changed), left})
	s.inbox.events = append(s.inbox.events, &recorded)
	s.inbox.mu.Unlock()
	s.wake()
	return nil
}

// swap makes the oldest prepared pipelines the current ones.
func (s *Scheduler) swap() {
	s.inbox.mu.Lock()
	next := s.inbox.prepared[0]
	s.inbox.prepared = s.inbox.prepared[1:]
	s.inbox.mu.Unlock()
	pipelines, changed := next.pipelines, next.changed
	s.tellWork()
	old, before := retired{drained: next.left.Drained}, maps.Clone(s.pipelines)
	for i, p := range s.deps.Pipelines {
		if p != pipelines[i] {
			old.pipelines = append(old.pipelines, p)
			s.cycle.Replace(p, pipelines[i])
		}
		s.pipelines[p.Profile()] = pipelines[i]
	}
	reorder := slices.Contains(changed, s.deps.Pipelines[0].QueueSort().Info().Name) ||
		slices.Contains(changed, pipelines[0].QueueSort().Info().Name)
	s.deps.Pipelines = pipelines
	if next.left.Replaced != nil {
		next.left.Replaced()
	}
	s.inheritNew(before)
	s.swapResizes()
	for _, w := range s.waiting { // a change of plugins that do not bind the pod is none of its concern
		w.binding.Move(s.pipelines[w.pod.Pod.Profile])
	}
	if reorder {
		for _, q := range s.queue.All() {
			q.SortKey = nil // of another version
		}
		s.queue.Rebuild(nil)
	}
	s.queue.Relane()
	maps.DeleteFunc(s.retried, func(l lane, _ time.Time) bool { return slices.Contains(changed, l.breaker.Info().Name) })
	for _, p := range old.pipelines {
		s.releaseMoved(p, s.pipelines[p.Profile()])
	}
	if len(changed) > 0 { // one of them may enforce a feature that was unenforced
		s.queue.Release(append(changed, pipeline.Enforcement)...)
	}
	for uid := range s.nominated { // a plugin that does not run holds pods
		s.recheck(uid)
	}
	if s.retired = append(s.retired, old); len(s.retired) > maxRetired {
		s.rejectWaiting(s.retired[0].pipelines)
	}
	s.drainRetired()
}

// releaseMoved retries the pods that a plugin of an old pipeline rejected and that are not in its share
// any more: another version of it decides for them now.
func (s *Scheduler) releaseMoved(old, now *pipeline.Pipeline) {
	of := func(p *pipeline.Pipeline, name string) state.Share { share, _ := p.ShareOf(name); return share }
	for _, info := range old.Plugins() {
		was, is := of(old, info.Name), of(now, info.Name)
		if was == is {
			continue
		}
		s.queue.ReleaseOnly(func(pod *state.Pod) bool { return pod.Profile == old.Profile() && was.Has(pod) && !is.Has(pod) }, info.Name)
	}
}

// rejectWaiting rejects the pods that wait in old pipelines.
func (s *Scheduler) rejectWaiting(pipelines []*pipeline.Pipeline) {
	for {
		// Rejecting runs plugins, which may allow or reject other pods.
		i := slices.IndexFunc(s.waiting, func(w *waiting) bool { return slices.Contains(pipelines, w.binding.Pipeline()) })
		if i < 0 {
			return
		}
		w := s.waiting[i]
		s.reject(w.pod.Pod.UID, plugin.NewStatus(abi.Unschedulable, "plugins were replaced while the pod waited").By(w.first().plugin))
	}
}

// drainRetired drops old pipelines that no pod uses any more.
func (s *Scheduler) drainRetired() {
	s.retired = slices.DeleteFunc(s.retired, func(r retired) bool {
		used := slices.ContainsFunc(s.waiting, func(w *waiting) bool { return slices.Contains(r.pipelines, w.binding.Pipeline()) })
		for _, b := range s.binding {
			used = used || slices.Contains(r.pipelines, b.binding.Pipeline())
		}
		if used {
			return false
		}
		if r.drained != nil {
			r.drained()
		}
		return true
	})
}
