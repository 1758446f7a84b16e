package replay_test

import (
	"context"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

func (w *world) Read(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	w.wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	now, _ := w.objects[key(claim)].(*resourcev1.ResourceClaim)
	if now == nil || w.rand.IntN(10) == 0 {
		return nil, errLater
	}
	w.scheduler.Written(now)
	return now, nil
}

func (w *world) Update(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.UpdateStatus(ctx, claim)
}

func (w *world) UpdateStatus(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	claim = claim.DeepCopy()
	if err := w.update(claim); err != nil {
		return nil, err
	}
	w.scheduler.Written(claim)
	return claim, nil
}

func (w *world) Create(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return nil, errLater
}

func (w *world) Tell(context.Context, *state.Pod, *v1.PodExtendedResourceClaimStatus) error {
	return nil
}

func (w *world) Delete(*resourcev1.ResourceClaim) <-chan struct{} { return nil }

func (w *world) Release(claim *resourcev1.ResourceClaim, pod types.UID) {
	w.late.Go(func() {
		w.wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		now, _ := w.objects[key(claim)].(*resourcev1.ResourceClaim)
		if now == nil {
			return
		}
		now = now.DeepCopy()
		kept := now.Status.ReservedFor[:0]
		for _, r := range now.Status.ReservedFor {
			if r.UID != pod {
				kept = append(kept, r)
			}
		}
		now.Status.ReservedFor = kept
		w.put(now)
	})
}

func (w *world) Deallocate(claim *resourcev1.ResourceClaim, pod types.UID) {
	w.late.Go(func() {
		if _, err := w.UpdateStatus(context.Background(), claim); err != nil {
			w.scheduler.Activate(pod)
		}
	})
}

func (w *world) Waiting(*state.Pod, string) func(string, []*resourcev1.ResourceClaim) {
	return func(string, []*resourcev1.ResourceClaim) {}
}
