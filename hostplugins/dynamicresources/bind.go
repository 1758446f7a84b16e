package dynamicresources

import (
	"context"
	"errors"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// PreBindPreFlight skips pods without claims.
func (d *DynamicResources) PreBindPreFlight(pl *plugin.Placement) *plugin.Status {
	if a := attemptOf(pl.State); a == nil || len(a.claims) == 0 {
		return plugin.NewStatus(abi.Skip)
	}
	return nil
}

// PreBind writes the allocations and reserves the claims for the pod, then waits until the devices
// are ready that must be prepared first. An error sends the pod back to the queue.
func (d *DynamicResources) PreBind(pl *plugin.Placement) (plugin.Directives, *plugin.Status) {
	a := attemptOf(pl.State)
	if a == nil {
		return plugin.Directives{}, plugin.Fail(errNotSeen)
	}
	wait := false
	for i := range a.claims {
		var err error
		if c := &a.claims[i]; c.special == nil {
			err = d.bind(pl, c)
		} else {
			err = d.bindSpecial(a.running, pl, c)
		}
		if err != nil {
			return plugin.Directives{}, plugin.Fail(err)
		}
		wait = wait || awaited(a.claims[i].object)
	}
	if !wait {
		return plugin.Directives{}, nil
	}
	ended := d.deps.Writer.Waiting(pl.Pod, pl.Node.Name)
	err := d.deps.Waiter.Await(pl.Context, d.bindTimeout, func() (bool, error) { return d.allReady(a) })
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errBindingTimeout, err)
	}
	ended(outcome(err), a.objects())
	return plugin.Directives{}, plugin.Fail(err)
}

// outcome is how a wait for devices ended, in the words of kube-scheduler's metrics.
func outcome(err error) string {
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, errBindingTimeout):
		return "timeout"
	case errors.Is(err, errBindingFailed):
		return "failure"
	default:
		return "error"
	}
}

// objects returns the claims as they are known now.
func (a *attempt) objects() []*resourcev1.ResourceClaim {
	out := make([]*resourcev1.ResourceClaim, len(a.claims))
	for i := range a.claims {
		out[i] = a.claims[i].object
	}
	return out
}

// binding is the writing of one claim.
type binding struct {
	*DynamicResources
	pl    *plugin.Placement
	claim *resourcev1.ResourceClaim // as the API has it; shared
	// allocation is to be written; nil if the claim was allocated before.
	allocation *resourcev1.AllocationResult
}

// bind reserves a claim for the pod, and writes its allocation if it is new. A conflict is usually
// about something else in the claim, so it is read again and written with that.
func (d *DynamicResources) bind(pl *plugin.Placement, c *podClaim) error {
	b := &binding{DynamicResources: d, pl: pl, claim: c.object}
	if c.allocation != nil {
		b.allocation = c.allocation.DeepCopy()
		now := metav1.NewTime(d.deps.Wall()).Rfc3339Copy()
		b.allocation.AllocationTimestamp = &now
	}
	// If an earlier try has reserved the claim, the reservation may be about to be released.
	read := b.reserved()
	var conflict error
	again := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1, Jitter: 0.1, Steps: 5}
	err := wait.ExponentialBackoffWithContext(pl.Context, again, func(ctx context.Context) (bool, error) {
		if read {
			now, err := d.deps.Writer.Read(ctx, b.claim)
			switch {
			case err == nil:
			case conflict == nil:
				return false, fmt.Errorf("get reserved claim %s: %w", b.name(), err)
			default:
				return false, fmt.Errorf("get updated claim %s after conflict: %w", b.name(), err)
			}
			b.claim = now
		}
		read = true
		err := b.write(ctx)
		if apierrors.IsConflict(err) {
			conflict = err
			return false, nil
		}
		return true, err
	})
	if wait.Interrupted(err) && conflict != nil {
		err = conflict
	}
	if err == nil {
		c.object = b.claim
	}
	return err
}

func (b *binding) name() string { return b.claim.Namespace + "/" + b.claim.Name }

func (b *binding) reserved() bool {
	return resourceclaim.IsReservedForPod(b.pl.Pod.Object, b.claim, false)
}

// write writes the claim once: its finalizer, if it lacks it, then its status.
func (b *binding) write(ctx context.Context) error {
	if b.claim.DeletionTimestamp != nil {
		return fmt.Errorf("claim %s got deleted in the meantime", b.name())
	}
	// The answer to an earlier write may have been lost.
	mine := b.allocation != nil && equality.Semantic.DeepEqual(b.claim.Status.Allocation, b.allocation)
	switch {
	case b.reserved() && (b.allocation == nil || mine):
		return nil
	case b.allocation == nil && b.claim.Status.Allocation == nil:
		return fmt.Errorf("claim %s got deallocated elsewhere in the meantime", b.name())
	case b.allocation != nil && b.claim.Status.Allocation != nil && !mine:
		return fmt.Errorf("claim %s got allocated elsewhere in the meantime", b.name())
	}
	if claim := b.claim.DeepCopy(); b.allocation != nil && withFinalizer(claim) {
		now, err := b.deps.Writer.Update(ctx, claim)
		if err != nil {
			return fmt.Errorf("add finalizer to claim %s: %w", b.name(), err)
		}
		b.claim = now
	}
	claim, what := b.claim.DeepCopy(), "reservation"
	if b.allocation != nil {
		claim.Status.Allocation, what = b.allocation, "allocation and reservation"
	}
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, reservedFor(b.pl))
	now, err := b.deps.Writer.UpdateStatus(ctx, claim)
	if err != nil {
		return fmt.Errorf("add %s to claim %s: %w", what, b.name(), err)
	}
	b.claim = now
	return nil
}

// allReady reports whether the devices of all claims are ready.
func (d *DynamicResources) allReady(a *attempt) (bool, error) {
	for i := range a.claims {
		c := &a.claims[i]
		now := d.deps.Devices.Claims.ResourceClaim(c.object.Namespace, c.object.Name)
		if now == nil {
			return false, noClaim(c.object.Namespace, c.object.Name)
		}
		if now.Status.Allocation == nil {
			return false, nil // what was written is not visible yet
		}
		c.object = now
		done, err := ready(now)
		switch {
		case err != nil:
			return false, err
		case !done && d.late(now, d.deps.Wall()):
			return false, fmt.Errorf("%w: claim=%s", errBindingTimeout, now.Name)
		case !done:
			return false, nil
		}
	}
	return true, nil
}
