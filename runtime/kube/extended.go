package kube

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Create implements objects.ClaimWriter. The claim has a name, so that a repeated request makes no second one.
func (w *claimWriter) Create(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	claims := w.claims(claim.Namespace)
	now, _, err := carry(ctx, w.cluster, "claim_create", func(ctx context.Context) (*resourcev1.ResourceClaim, error) {
		return claims.Create(ctx, claim, metav1.CreateOptions{})
	})
	if !apierrors.IsAlreadyExists(err) {
		return now, err
	}
	if now, err := claims.Get(ctx, claim.Name, metav1.GetOptions{}); err == nil &&
		equality.Semantic.DeepEqual(now.OwnerReferences, claim.OwnerReferences) && now.Status.Allocation == nil {
		return now, nil
	}
	return nil, err
}

// podStatusPatch is a strategic merge patch of the claim that a pod's status names.
type podStatusPatch struct {
	Metadata struct {
		UID types.UID `json:"uid"`
	} `json:"metadata"`
	Status struct {
		Claim *v1.PodExtendedResourceClaimStatus `json:"extendedResourceClaimStatus"`
	} `json:"status"`
}

// Tell implements objects.ClaimWriter. It waits until what an earlier try has sent without an answer cannot be carried out any
// more: that names another claim.
func (w *claimWriter) Tell(ctx context.Context, pod *state.Pod, status *v1.PodExtendedResourceClaimStatus) error {
	var patch podStatusPatch
	patch.Metadata.UID, patch.Status.Claim = pod.UID, status
	data, err := json.Marshal(&patch)
	if err != nil {
		return err
	}
	clock := w.cluster.deps.Clock
	w.mu.Lock()
	before := w.mu.named[pod.UID]
	w.mu.Unlock()
	if clock.Now().Before(before) {
		reached, stop := clock.Until(before)
		defer stop()
		select {
		case <-reached:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_, settled, err := carry(ctx, w.cluster, "pod_status_patch", func(ctx context.Context) (*v1.Pod, error) {
		return w.cluster.deps.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, "status")
	})
	if !settled.IsZero() {
		w.mu.Lock()
		defer w.mu.Unlock()
		maps.DeleteFunc(w.mu.named, func(_ types.UID, until time.Time) bool { return until.Before(clock.Now()) })
		w.mu.named[pod.UID] = settled
	}
	return err
}

// Delete implements objects.ClaimWriter. If it fails, the pod's next try finds the claim.
func (w *claimWriter) Delete(claim *resourcev1.ResourceClaim) <-chan struct{} {
	return w.beside(claim, "delete a resource claim", func() {}, func(ctx context.Context) error {
		err := w.discard(ctx, claim)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil && unanswered(err) && !errors.Is(err, ErrLeaseLost) {
			<-w.settle(claim, w.cluster.deps.Clock.Now()) // the devices that it may have must not be free before
		}
		return err
	})
}

// discard removes the finalizer of a claim, if it has it, and deletes it.
func (w *claimWriter) discard(ctx context.Context, claim *resourcev1.ResourceClaim) error {
	claims := w.claims(claim.Namespace)
	ours := func(f string) bool { return f == resourcev1.Finalizer }
	err := retried(retry.DefaultRetry, apierrors.IsConflict, func() error {
		now, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
		if err != nil || now.UID != claim.UID || !slices.ContainsFunc(now.Finalizers, ours) {
			return err
		}
		now.Finalizers = slices.DeleteFunc(now.Finalizers, ours)
		_, err = w.send(ctx, "claim_update", now, func(ctx context.Context) (*resourcev1.ResourceClaim, error) {
			return claims.Update(ctx, now, metav1.UpdateOptions{})
		})
		return err
	})
	if err != nil {
		return err
	}
	_, _, err = carry(ctx, w.cluster, "claim_delete", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, claims.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}})
	})
	return err
}
