package scheduler

import (
	"context"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// fuelOfTurn is fuel that counts as much as an attempt without plugins: both take some 0.3 ms on 1,000 nodes.
const fuelOfTurn = 10_000

// lane has pods of a namespace with plugins of its own take turns with the others, so that these do not wait for all of them. Where
// another plugin orders the queue, that order holds for all pods.
func (s *Scheduler) lane(queued *state.QueuedPod) queue.Lane {
	pod := queued.Pod
	out := queue.Lane{Priority: pod.Priority}
	p := s.pipelines[pod.Profile]
	if p == nil || s.config.OneLane || !s.deps.Pipelines[0].QueueSort().Info().ByPriority {
		return out
	}
	if own, most := p.Lane(pod); own {
		out = queue.Lane{Name: pod.Namespace, Priority: min(pod.Priority, most)}
	}
	return out
}

// used remembers what the attached plugins of a pod have used in its attempt, of which they had used before.
func (s *Scheduler) used(p *pipeline.Pipeline, pod *state.Pod, before int64) {
	if cost := (p.FuelOfGuests(pod) - before) / fuelOfTurn; cost > 0 && !s.config.OneLane {
		s.cost = &inbox.Turn{Namespace: pod.Namespace, Cost: uint64(cost)}
	}
}

// chargeTurn charges the lane of the pod that was tried. It is an event itself: a replay that begins in the middle has other instances.
func (s *Scheduler) chargeTurn(ctx context.Context) {
	if e := s.cost; e != nil && s.broken == nil {
		s.Handle(ctx, e)
	}
	s.cost = nil
}

// checkpointTurns tells how much more than others the lanes have used.
func (s *Scheduler) checkpointTurns() {
	ahead := s.queue.Ahead()
	for _, name := range slices.Sorted(maps.Keys(ahead)) {
		s.enter(&inbox.Turn{Namespace: name, Cost: ahead[name]})
	}
}
