package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/util/retry"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Evict implements objects.Evictor.
func (c *Cluster) Evict(ctx context.Context, e objects.Eviction) error {
	victim := e.Victim
	pods := c.deps.Client.CoreV1().Pods(victim.Namespace)
	end, err := c.turn(ctx)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	watch := clock.Start()
	doubt := false // a request to delete it may have been carried out
	err = func() error {
		if patch, needed := conditionPatch(victim.Object, e.Condition, nil, c.deps.Clock.Now()); needed {
			if err := retried(retry.DefaultBackoff, temporary, func() error {
				_, err := pods.Patch(ctx, victim.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
				return err
			}); err != nil {
				return err
			}
		}
		return retried(retry.DefaultBackoff, temporary, func() error {
			err := pods.Delete(ctx, victim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &victim.UID}})
			doubt = doubt || err != nil && unanswered(err)
			return err
		})
	}()
	if err != nil && c.gone(ctx, victim, err) {
		err = nil
	}
	c.deps.wrote("pod_delete", watch, err)
	if err != nil && doubt {
		return fmt.Errorf("%w; %w", err, objects.ErrUnanswered)
	}
	return err
}

// gone reports whether a write failed because the pod no longer exists. A conflict means
// that only if another pod has its name.
func (c *Cluster) gone(ctx context.Context, pod *state.Pod, err error) bool {
	if !apierrors.IsConflict(err) {
		return apierrors.IsNotFound(err)
	}
	now, err := c.deps.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && now.UID != pod.UID
}

// temporary reports whether to retry a write at once, as in
// kube-scheduler (pkg/scheduler/util, Retriable).
func temporary(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsConflict(err) || net.IsConnectionRefused(err)
}

// statusPatch is a strategic merge patch of a pod's status.
type statusPatch struct {
	Metadata struct {
		UID types.UID `json:"uid"`
	} `json:"metadata"`
	Status struct {
		Conditions        []any   `json:"conditions,omitempty"`
		NominatedNodeName *string `json:"nominatedNodeName,omitempty"`
	} `json:"status"`
}

// conditionPatch returns the patch that sets a pod's condition and, if not nil, its
// nominated node. It returns false if the pod already has both. A condition with an
// unchanged status keeps its transition time. One without a status removes the pod's condition, if
// that has its reason.
func conditionPatch(pod *v1.Pod, condition v1.PodCondition, nominated *string, now time.Time) (patch []byte, needed bool) {
	var out statusPatch
	out.Metadata.UID = pod.UID
	switch {
	case condition.Type == "":
	case condition.Status == "":
		for i := range pod.Status.Conditions {
			if old := &pod.Status.Conditions[i]; old.Type == condition.Type && old.Reason == condition.Reason {
				out.Status.Conditions = []any{map[string]string{"$patch": "delete", "type": string(condition.Type)}}
			}
		}
	default:
		condition.LastTransitionTime = metav1.NewTime(now)
		same := false
		for i := range pod.Status.Conditions {
			old := &pod.Status.Conditions[i]
			if old.Type != condition.Type {
				continue
			}
			if old.Status == condition.Status {
				condition.LastTransitionTime = old.LastTransitionTime
			}
			same = old.Status == condition.Status && old.Reason == condition.Reason && old.Message == condition.Message &&
				old.ObservedGeneration == condition.ObservedGeneration
		}
		if !same {
			out.Status.Conditions = []any{condition}
		}
	}
	if nominated != nil && *nominated != pod.Status.NominatedNodeName {
		out.Status.NominatedNodeName = nominated
	}
	if out.Status.Conditions == nil && out.Status.NominatedNodeName == nil {
		return nil, false
	}
	patch, err := json.Marshal(&out)
	if err != nil {
		panic("BUG: a patch of status cannot be encoded: " + err.Error())
	}
	return patch, true
}
