package replay

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// nowhere is the cluster of a replay: nothing is written to it. What a cluster made of a write is in the
// recording.
type nowhere struct{}

var (
	_ scheduler.Outlet      = nowhere{}
	_ objects.Binder        = nowhere{}
	_ objects.ClaimWriter   = nowhere{}
	_ objects.StorageWaiter = nowhere{}
)

func (nowhere) Binding(context.Context, *state.Pod) error   { panic("BUG: a replay binds a pod") }
func (nowhere) Bind(context.Context, objects.Binding) error { panic("BUG: a replay binds a pod") }
func (nowhere) Scheduled(*state.Pod, string, state.Feature) {}
func (nowhere) Failed(scheduler.Failure)                    {}
func (nowhere) Preempted(scheduler.Preempted)               {}
func (nowhere) NominationCleared(*state.Pod)                {}

// The rest is for binding cycles, which do not run, but for Delete, Release and Deallocate.

func (nowhere) Read(context.Context, *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	panic("BUG: a replay binds a pod")
}

func (nowhere) Update(context.Context, *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	panic("BUG: a replay binds a pod")
}

func (nowhere) UpdateStatus(context.Context, *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	panic("BUG: a replay binds a pod")
}

func (nowhere) Create(context.Context, *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	panic("BUG: a replay binds a pod")
}

func (nowhere) Tell(context.Context, *state.Pod, *v1.PodExtendedResourceClaimStatus) error {
	panic("BUG: a replay binds a pod")
}

func (nowhere) Delete(*resourcev1.ResourceClaim) <-chan struct{} { return nil }
func (nowhere) Release(*resourcev1.ResourceClaim, types.UID)     {}
func (nowhere) Deallocate(*resourcev1.ResourceClaim, types.UID)  {}

func (nowhere) Waiting(*state.Pod, string) func(string, []*resourcev1.ResourceClaim) {
	panic("BUG: a replay binds a pod")
}

func (nowhere) Await(context.Context, time.Duration, func() (bool, error)) error {
	panic("BUG: a replay binds a pod")
}
