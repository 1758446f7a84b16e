package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	typed "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/client-go/util/retry"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// claimWriter sends requests about resource claims, and reports the answers to the loop.
//
// If an answer gets lost, the claim may or may not have been written. Devices that are allocated to
// it must not be given away meanwhile, so the request is repeated: the resource version makes a
// second write of the same fail with a conflict. If the server still does not say, the loop is told
// of what was sent, as if it had been carried out, unless that would free devices. Further requests
// about the claim wait until none of those before can be carried out any more, and the loop is told
// of what the claim is like then.
type claimWriter struct {
	cluster *Cluster
	ended   <-chan struct{} // closed by Close

	mu struct {
		sync.Mutex
		loop  Scheduler                   // nil before Start
		begun map[types.UID]chan struct{} // closed when the last request begun for a claim has ended
		all   sync.WaitGroup              // of those beside the loop
		named map[types.UID]time.Time     // until when a pod's status may get a name that was sent before
	}
}

var _ objects.ClaimWriter = (*claimWriter)(nil)

func (w *claimWriter) start(loop Scheduler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.loop = loop
}

func (w *claimWriter) claims(namespace string) typed.ResourceClaimInterface {
	return w.cluster.deps.Client.ResourceV1().ResourceClaims(namespace)
}

// told reports a version of a claim to the loop, and returns it.
func (w *claimWriter) told(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	if claim.ManagedFields != nil {
		claim.ManagedFields = nil // as those of the watch
	}
	w.mu.Lock()
	loop := w.mu.loop
	w.mu.Unlock()
	loop.Written(claim)
	return claim
}

// errRecreated is the answer for a claim whose name another one has now.
var errRecreated = errors.New("deleted and made again")

// Read implements objects.ClaimWriter.
func (w *claimWriter) Read(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	if err := w.queue(ctx, claim.UID); err != nil {
		return nil, err
	}
	now, err := w.get(ctx, claim)
	if err != nil {
		return nil, err
	}
	return w.told(now), nil
}

func (w *claimWriter) get(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	now, err := w.claims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
	if err == nil && now.UID != claim.UID {
		err = fmt.Errorf("resourceclaim %q was %w", claim.Name, errRecreated)
	}
	return now, err
}

// Update implements objects.ClaimWriter.
func (w *claimWriter) Update(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	if err := w.queue(ctx, claim.UID); err != nil {
		return nil, err
	}
	return w.send(ctx, "claim_update", claim, func(ctx context.Context) (*resourcev1.ResourceClaim, error) {
		return w.claims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
	})
}

// UpdateStatus implements objects.ClaimWriter.
func (w *claimWriter) UpdateStatus(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	if err := w.queue(ctx, claim.UID); err != nil {
		return nil, err
	}
	return w.sendStatus(ctx, claim)
}

func (w *claimWriter) sendStatus(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.send(ctx, "claim_status_update", claim, func(ctx context.Context) (*resourcev1.ResourceClaim, error) {
		return w.claims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	})
}

// send writes a claim, and reports the answer.
func (w *claimWriter) send(
	ctx context.Context, kind string, claim *resourcev1.ResourceClaim, request func(ctx context.Context) (*resourcev1.ResourceClaim, error),
) (*resourcev1.ResourceClaim, error) {
	now, settled, err := carry(ctx, w.cluster, kind, request)
	if err == nil {
		return w.told(now), nil
	}
	if settled.IsZero() || errors.Is(err, ErrLeaseLost) || !unanswered(err) && !notYet(err) && !apierrors.IsConflict(err) {
		return nil, err
	}
	if apierrors.IsConflict(err) { // with what an earlier try has written, perhaps
		now, failed := w.get(ctx, claim)
		if failed == nil {
			w.told(now)
		}
		if failed == nil || errors.Is(failed, errRecreated) || !unanswered(failed) && !notYet(failed) {
			return nil, err
		}
	}
	if claim.Status.Allocation != nil {
		w.told(claim)
	}
	w.settle(claim, settled)
	return nil, err
}

// carry sends a request until the server says whether it has carried it out, for bindPatience. Tries without an answer may
// still be carried out until settled; it is zero if there were none. After a conflict, one of them may have been carried out.
func carry[T any](
	ctx context.Context, c *Cluster, kind string, request func(ctx context.Context) (T, error),
) (answer T, settled time.Time, last error) {
	watch := clock.Start()
	var errs time.Time // start of the server's errors; zero for none
	doubt := false
	delay := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 2 * time.Second}.DelayFunc()
	_ = delay.Until(ctx, true, true, func(ctx context.Context) (done bool, _ error) {
		writing, end, err := c.begin(ctx)
		if err != nil {
			if last == nil {
				last = err
			}
			return true, nil
		}
		defer end()
		answer, last = request(writing)
		if last == nil || errors.Is(last, ErrLeaseLost) { // the next leader sees what there is
			return true, nil
		}
		at := c.deps.Clock.Now()
		if unanswered(last) {
			late := at.Add(bindSettles)
			if apierrors.ReasonForError(last) == metav1.StatusReasonUnknown { // no answer
				late = at.Add(writeTimeout)
			}
			if late.After(settled) {
				settled = late
			}
		}
		doubt = unanswered(last) || doubt && notYet(last)
		if errs.IsZero() {
			errs = at
		}
		return !doubt || at.Sub(errs) >= bindPatience, nil
	}) // last says more than the context's error
	c.deps.wrote(kind, watch, last)
	return answer, settled, last
}

// settle makes further requests about a claim wait until none of those before can be carried out any more: the claim
// has another version than they ask for, or it is late enough. Then it reports the claim, and closes what it returns.
func (w *claimWriter) settle(claim *resourcev1.ResourceClaim, settled time.Time) <-chan struct{} {
	_, end := w.begin(claim.UID)
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-w.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	go func() {
		defer close(done)
		defer end()
		defer cancel()
		_ = wait.PollUntilContextCancel(ctx, bindSettles, false, func(ctx context.Context) (bool, error) {
			now, err := w.get(ctx, claim)
			switch {
			case errors.Is(err, errRecreated):
				return true, nil // as the watch tells
			case err != nil:
				return !unanswered(err) && !notYet(err), nil
			case now.ResourceVersion == claim.ResourceVersion && w.cluster.deps.Clock.Now().Before(settled):
				return false, nil
			}
			w.told(now)
			return true, nil
		})
	}()
	return done
}

// begin makes the requests about a claim that follow wait until end is called. The caller waits for
// before.
func (w *claimWriter) begin(uid types.UID) (before <-chan struct{}, end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before = w.mu.begun[uid]
	mine := make(chan struct{})
	w.mu.begun[uid] = mine
	return before, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.mu.begun[uid] == mine {
			delete(w.mu.begun, uid)
		}
		close(mine)
	}
}

// queue waits until the requests have ended that were begun for a claim.
func (w *claimWriter) queue(ctx context.Context, uid types.UID) error {
	w.mu.Lock()
	before := w.mu.begun[uid]
	w.mu.Unlock()
	if before == nil {
		return nil
	}
	select {
	case <-before:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// beside runs a request about a claim beside the loop, after those that were begun before. It returns what is
// closed when the request has ended.
func (w *claimWriter) beside(
	claim *resourcev1.ResourceClaim, what string, failed func(), request func(ctx context.Context) error,
) <-chan struct{} {
	before, end := w.begin(claim.UID)
	done := make(chan struct{})
	w.mu.all.Add(1)
	go func() {
		defer w.mu.all.Done()
		defer close(done)
		defer end()
		if before != nil {
			<-before
		}
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		defer cancel()
		var err error
		if caught := w.cluster.deps.guard(plugin.InWrite, "resource claim "+claim.Namespace+"/"+claim.Name, func() {
			w.cluster.deps.fault("claim", claim.Namespace+"/"+claim.Name)
			err = request(ctx)
		}); caught != nil {
			err = caught
		}
		if err != nil && !errors.Is(err, ErrLeaseLost) {
			w.cluster.deps.logFailure("cannot "+what, "resourceclaim", claim.Namespace+"/"+claim.Name, err)
			failed()
		}
	}()
	return done
}

// releasePatch is a strategic merge patch that removes a pod from a version of a claim: a request that is carried out late
// must not remove it again.
type releasePatch struct {
	Metadata struct {
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
	Status struct {
		ReservedFor []releasedPod `json:"reservedFor"`
	} `json:"status"`
}

type releasedPod struct {
	Patch string    `json:"$patch"`
	UID   types.UID `json:"uid"`
}

// Release implements objects.ClaimWriter. If it fails, the pod's next try finds its reservation.
func (w *claimWriter) Release(claim *resourcev1.ResourceClaim, pod types.UID) {
	w.beside(claim, "release a resource claim", func() {}, func(ctx context.Context) error {
		now := claim
		return retried(retry.DefaultRetry, apierrors.IsConflict, func() error {
			err := w.release(ctx, now, pod)
			if !apierrors.IsConflict(err) {
				return err
			}
			next, failed := w.get(ctx, claim)
			if failed != nil {
				return failed
			}
			if now = w.told(next); !slices.ContainsFunc(now.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod }) {
				return nil
			}
			return err
		})
	})
}

func (w *claimWriter) release(ctx context.Context, claim *resourcev1.ResourceClaim, pod types.UID) error {
	var patch releasePatch
	patch.Metadata.UID, patch.Metadata.ResourceVersion = claim.UID, claim.ResourceVersion
	patch.Status.ReservedFor = []releasedPod{{Patch: "delete", UID: pod}}
	data, err := json.Marshal(&patch)
	if err != nil {
		return err
	}
	_, err = w.send(ctx, "claim_status_patch", claim, func(ctx context.Context) (*resourcev1.ResourceClaim, error) {
		return w.claims(claim.Namespace).Patch(ctx, claim.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, "status")
	})
	return err
}

// Deallocate implements objects.ClaimWriter.
func (w *claimWriter) Deallocate(claim *resourcev1.ResourceClaim, pod types.UID) {
	again := func() {
		w.mu.Lock()
		loop := w.mu.loop
		w.mu.Unlock()
		loop.Activate(pod)
	}
	w.beside(claim, "deallocate a resource claim", again, func(ctx context.Context) error {
		_, err := w.sendStatus(ctx, claim)
		return err
	})
}

// Waiting implements objects.ClaimWriter.
func (w *claimWriter) Waiting(pod *state.Pod, node string) (ended func(result string, claims []*resourcev1.ResourceClaim)) {
	if w.cluster.deps.Covered() == nil {
		w.cluster.events.normal(pod, nil, "BindingConditionsPending", "Scheduling", "waiting for binding conditions for device on node %s", node)
	}
	watch := clock.Start()
	return func(result string, claims []*resourcev1.ResourceClaim) {
		observer := w.cluster.deps.Observer
		if observer == nil {
			return
		}
		took := watch.Elapsed()
		for _, claim := range claims {
			if claim.Status.Allocation == nil {
				continue
			}
			for i := range claim.Status.Allocation.Devices.Results {
				r := &claim.Status.Allocation.Devices.Results[i]
				observer.Prepared(pod.Object.Spec.SchedulerName, r.Driver, result, len(r.BindingConditions) > 0, took)
			}
		}
	}
}

// finish waits for the requests beside the loop, until the context ends.
func (w *claimWriter) finish(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.mu.all.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
