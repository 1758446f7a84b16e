package replay

import (
	"context"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// nowhere is the cluster of a replay: nothing is written to it. What a cluster made of a write is in the
// recording.
type nowhere struct{}

var (
	_ scheduler.Outlet = nowhere{}
	_ objects.Binder   = nowhere{}
)

func (nowhere) Binding(context.Context, *state.Pod) error   { panic("BUG: a replay binds a pod") }
func (nowhere) Bind(context.Context, objects.Binding) error { panic("BUG: a replay binds a pod") }
func (nowhere) Scheduled(*state.Pod, string, state.Feature) {}
func (nowhere) Failed(scheduler.Failure)                    {}
func (nowhere) Preempted(scheduler.Preempted)               {}
func (nowhere) NominationCleared(*state.Pod)                {}
