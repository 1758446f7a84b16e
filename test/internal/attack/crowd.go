package attack

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/debughttp"
	"github.com/berth-scheduler/berth/test/internal/load"
	"github.com/berth-scheduler/berth/test/internal/workload"
)

// changes is how many changes of a node there are for each calm pod, with and without the attack, if it has a crowd: they wake it.
const changes = 10

// crowd is how many pods of the attacks are there before the calm ones.
func (r *attempts) crowd() (n int) {
	for _, a := range r.attacks {
		n += a.Crowd
	}
	return n
}

// overview is the state of the scheduler in a few numbers.
func (r *attempts) overview() (out debughttp.Overview, err error) {
	return out, r.ask(debughttp.OverviewPath, &out)
}

// decisions returns the number of the last attempt.
func (r *attempts) decisions() (uint64, error) {
	now, err := r.overview()
	return now.Decisions, err
}

// gather creates the crowds of the attacks, and waits until each of their pods was tried.
func (r *attempts) gather(ctx context.Context) error {
	if r.crowd() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	before, err := r.decisions()
	if err != nil {
		return err
	}
	for i, a := range r.attacks {
		if err := load.Each(ctx, a.Crowd, func(ctx context.Context, k int) error {
			pod := workload.All()[0].Pod(attacked(i), k)
			pod.Name = fmt.Sprintf("crowd-%d-%d", r.legs, k)
			pod.Spec.PriorityClassName = priority
			return load.Pod(ctx, r.bench.client, pod)
		}); err != nil {
			return err
		}
	}
	for {
		now, err := r.overview()
		if err != nil {
			return err
		}
		if now.Decisions-before >= uint64(r.crowd()) && now.Places["active"] == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods were tried, others are %v: %w\n%s",
				now.Decisions-before, r.crowd(), now.Places, ctx.Err(), r.process.Tail(10))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// change changes a label of a node, if the attacks have crowds.
func (r *attempts) change(ctx context.Context, step int) error {
	if r.crowd() == 0 {
		return nil
	}
	for i := range changes {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"example.com/change":"%d-%d-%d"}}}`, r.legs, step, i)
		_, err := r.bench.client.CoreV1().Nodes().Patch(ctx, workload.NodeName(0), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}
