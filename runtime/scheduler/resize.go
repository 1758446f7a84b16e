package scheduler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// A pod on a node whose kubelet has deferred its resize in place is queued if a profile's plugins say so (KEP-5836). An attempt
// looks at its node only, may have pods of lower priority evicted there, and never binds: the kubelet resizes the pod once there
// is room. The queue has such a pod until it waits for no resize any more, and no other pods that are bound.

// forResize reports whether a queued pod is there because of a resize: it has a node.
func forResize(pod *state.Pod) bool { return pod.NodeName() != "" }

// resizing reports whether the queue has a pod because of a resize.
func (s *Scheduler) resizing(uid types.UID) bool {
	queued, _ := s.queue.Get(uid)
	return queued != nil && forResize(queued.Pod)
}

// setResize queues a bound pod for its resize, or gives the queue its new version.
func (s *Scheduler) setResize(pod *state.Pod) {
	if !s.queue.Has(pod.UID) {
		s.add([]*state.Pod{pod})
		return
	}
	watch := clock.Start()
	s.queue.Update(nil, pod)
	s.handled(state.ClusterEvent{Resource: state.UnscheduledPodResource, Action: state.Update}, watch.Elapsed())
}

// swapResizes queues the pods that wait for a resize and were not tried before a change of the plugins, and drops those that are
// not tried any more.
func (s *Scheduler) swapResizes() {
	var gone []types.UID
	for _, queued := range s.queue.All() {
		if pod := queued.Pod; forResize(pod) && !s.pipelines[pod.Profile].Resizes(pod) {
			gone = append(gone, pod.UID)
		}
	}
	for _, uid := range gone {
		s.leave(uid)
	}
	var came []*state.Pod
	for pod := range s.cache.Pods() {
		if p := s.pipelines[pod.Profile]; p != nil && p.Resizes(pod) && !s.queue.Has(pod.UID) {
			came = append(came, pod)
		}
	}
	if len(came) > 0 {
		s.add(came)
	}
}

// fits ends an attempt for a pod for whose resize there is room: Permit rejects it, since only the kubelet has something to do.
func (s *Scheduler) fits(ctx context.Context, p *pipeline.Pipeline, d *cycle.Decision, watch clock.Stopwatch) {
	pod := d.Pod.Pod
	b := p.NewBinding(plugin.Placement{
		Context: ctx, Pod: pod, Node: d.Node, State: d.State, Seed: s.seed(), Namespace: s.snapshot.Namespace(pod.Namespace),
	},
		s.tryOf(d.Pod, watch))
	_, _, status := b.Permit()
	if status.Success() {
		panic(fmt.Sprintf("BUG: pod %s is on node %s and was permitted to be bound", pod.Key(), d.Node.Name))
	}
	d.Attempt.Timings, d.Attempt.Points = b.Release(d.Attempt.Timings, d.Attempt.Points)
	s.rejectPlaced(d, status)
}
