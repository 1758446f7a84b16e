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

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"

	"github.com/berth-scheduler/berth/runtime/state"
)

type key struct{ namespace, name string }

// api is the API server of one side: its resource claims, and what the status of pods says of claims for
// extended resources.
type api struct {
	claims  map[key]*resourcev1.ResourceClaim
	told    map[string]string
	version int
	// watch is called for each new version; was is nil for a new claim, and now for one that is gone.
	watch func(was, now *resourcev1.ResourceClaim)
}

// made ends the name of each claim that a scheduler creates.
const made = "made"

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

func (a *api) create(claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	claim = claim.DeepCopy()
	claim.Name, claim.UID = claim.GenerateName+made, types.UID(claim.GenerateName+made)
	if a.claims[key{claim.Namespace, claim.Name}] != nil {
		return nil, apierrors.NewAlreadyExists(resourcev1.Resource("resourceclaims"), claim.Name)
	}
	return a.set(claim), nil
}

func (a *api) remove(namespace, name string) error {
	was, err := a.get(namespace, name)
	if err != nil {
		return err
	}
	if len(was.Finalizers) > 0 {
		return fmt.Errorf("BUG: claim %s is deleted with its finalizer", name)
	}
	delete(a.claims, key{namespace, name})
	a.watch(was, nil)
	return nil
}

func (a *api) tell(pod string, status any) {
	data, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	a.told[pod] = string(data)
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
		case testing.CreateActionImpl:
			claim, err = a.create(x.Object.(*resourcev1.ResourceClaim))
		case testing.DeleteActionImpl:
			return true, nil, a.remove(x.Namespace, x.Name)
		default:
			err = fmt.Errorf("BUG: the plugin asks for %s of resource claims", action.GetVerb())
		}
		if err != nil {
			return true, nil, err
		}
		return true, claim.DeepCopy(), nil
	})
	c.PrependReactor("patch", "pods", func(action testing.Action) (bool, runtime.Object, error) {
		x := action.(testing.PatchActionImpl)
		var patch struct {
			Status struct {
				Claim *v1.PodExtendedResourceClaimStatus `json:"extendedResourceClaimStatus"`
			} `json:"status"`
		}
		err := json.Unmarshal(x.Patch, &patch)
		a.tell(x.Name, patch.Status.Claim)
		return true, &v1.Pod{}, err
	})
	return c
}

// writer implements objects.ClaimWriter over the API server, for Berth's plugin.
type writer struct{ *api }

func (w writer) Read(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	now, err := w.get(claim.Namespace, claim.Name)
	if err == nil && now.UID != claim.UID {
		return nil, fmt.Errorf("resourceclaim %q was deleted and made again", claim.Name)
	}
	return now, err
}

func (w writer) Update(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.update(claim, false)
}

func (w writer) UpdateStatus(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.update(claim, true)
}

func (w writer) Create(_ context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	return w.create(claim)
}

func (w writer) Tell(_ context.Context, pod *state.Pod, status *v1.PodExtendedResourceClaimStatus) error {
	w.tell(pod.Name, status)
	return nil
}

func (w writer) Delete(claim *resourcev1.ResourceClaim) <-chan struct{} {
	done := make(chan struct{})
	close(done)
	now, err := w.get(claim.Namespace, claim.Name)
	if err != nil {
		return done // somebody was faster
	}
	now = now.DeepCopy()
	now.Finalizers = nil
	w.set(now)
	if err := w.remove(claim.Namespace, claim.Name); err != nil {
		panic(err)
	}
	return done
}

func (w writer) Release(claim *resourcev1.ResourceClaim, pod types.UID) {
	_, _ = w.release(claim.Namespace, claim.Name, pod) // a claim that is gone is free
}

func (w writer) Deallocate(claim *resourcev1.ResourceClaim, _ types.UID) {
	_, _ = w.update(claim, true) // kube-scheduler retries, too
}

func (writer) Waiting(*state.Pod, string) func(string, []*resourcev1.ResourceClaim) {
	return func(string, []*resourcev1.ResourceClaim) {}
}
