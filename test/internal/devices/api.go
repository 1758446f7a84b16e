// Package devices compares Berth's DynamicResources with kube-scheduler's, which runs in the bridge
// over its own manager of claims: on random clusters of many kinds of devices, pod by pod, from
// PreEnqueue to PreBind. Statuses, reasons, scores and the claims that are written must be equal, but
// for identifiers of shares and timestamps.
package devices

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/runtime/state"
)

type key struct{ namespace, name string }

// api is the API server of one side: its resource claims.
type api struct {
	claims  map[key]*resourcev1.ResourceClaim
	version int
	// watch is told of each new version; was is nil for a new claim.
	watch func(was, now *resourcev1.ResourceClaim)
}

func (a *api) set(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	a.version++
	claim = claim.DeepCopy()
	claim.ResourceVersion = strconv.Itoa(a.version)
	k := key{claim.Namespace, claim.Name}
	was := a.claims[k]
	a.claims[k] = claim
	a.watch(was, claim)
	return claim
}

func (a *api) get(namespace, name string) (*resourcev1.ResourceClaim, error) {
	if claim := a.claims[key{namespace, name}]; claim != nil {
		return claim, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), name)
}

func (a *api) update(claim *resourcev1.ResourceClaim, status bool) (*resourcev1.ResourceClaim, error) {
	now, err := a.get(claim.Namespace, claim.Name)
	if err != nil {
		return nil, err
	}
	if now.ResourceVersion != claim.ResourceVersion {
		return nil, apierrors.NewConflict(resourcev1.Resource("resourceclaims"), claim.Name, fmt.Errorf("version %s is not %s", claim.ResourceVersion, now.ResourceVersion))
	}
	next := claim.DeepCopy()
	if status {
		next = now.DeepCopy()
		next.Status = *claim.Status.DeepCopy()
	} else {
		next.Status = *now.Status.DeepCopy()
	}
	return a.set(next), nil
}

func (a *api) release(namespace, name string, pod types.UID) (*resourcev1.ResourceClaim, error) {
	now, err := a.get(namespace, name)
	if err != nil {
		return nil, err
	}
	next := now.DeepCopy()
	next.Status.ReservedFor = slices.DeleteFunc(next.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod })
	return a.set(next), nil
}

// client returns a client of the API server for kube-scheduler's plugin.
func (a *api) client() *fake.Clientset {
	c := fake.NewSimpleClientset()
	c.PrependReactor("*", "resourceclaims", func(action testing.Action) (bool, runtime.Object, error) {
		var claim *resourcev1.ResourceClaim
		var err error
		switch x := action.(type) {
		case testing.UpdateActionImpl:
			claim, err = a.update(x.Object.(*resourcev1.ResourceClaim), x.Subresource == "status")
		case testing.PatchActionImpl:
			var patch struct {
				Status struct {
					ReservedFor []struct{ UID types.UID } `json:"reservedFor"`
				} `json:"status"`
			}
			if err = json.Unmarshal(x.Patch, &patch); err == nil {
				claim, err = a.release(x.Namespace, x.Name, patch.Status.ReservedFor[0].UID)
			}
		case testing.GetActionImpl:
			claim, err = a.get(x.Namespace, x.Name)
		default:
			err = fmt.Errorf("BUG: the plugin asks for %s of resource claims", action.GetVerb())
		}
		if err != nil {
			return true, nil, err
		}
		return true, claim.DeepCopy(), nil
	})
	return c
}

// writer implements objects.ClaimWriter over the API server, for Berth's plugin.
type writer struct{ *api }

func (w writer) Read(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.get(claim.Namespace, claim.Name)
}

func (w writer) Update(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.update(claim, false)
}

func (w writer) UpdateStatus(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.update(claim, true)
}

func (w writer) Release(claim *resourcev1.ResourceClaim, pod types.UID) {
	_, _ = w.release(claim.Namespace, claim.Name, pod) // a claim that is gone is free
}

func (w writer) Deallocate(claim *resourcev1.ResourceClaim, _ types.UID) {
	_, _ = w.update(claim, true) // kube-scheduler retries, too
}

func (writer) Waiting(*state.Pod, string) {}
