package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// claimServer is an API server of resource claims that loses answers, and carries requests out late.
type claimServer struct {
	t       *testing.T
	mu      sync.Mutex
	dice    *rand.Rand
	calm    bool // it answers everything
	version int
	claims  map[string]*resourcev1.ResourceClaim
	holders map[string]string // claims by device
	named   map[string]string // claims for extended resources, by the pod whose status names them
	heard   time.Time         // when the watch tells of the last change
	watch   func(claim *resourcev1.ResourceClaim, gone bool)
	faults  int
}

func (s *claimServer) chance(percent int) bool { return s.dice.IntN(100) < percent }

// put stores a claim, nil if it is gone, and checks that each device has one claim.
func (s *claimServer) put(name string, claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	was := s.claims[name]
	s.version++
	if claim == nil {
		delete(s.claims, name)
	} else {
		claim = claim.DeepCopy()
		claim.ResourceVersion = strconv.Itoa(s.version)
		s.claims[name] = claim
	}
	for device, holder := range s.holders {
		if holder == name {
			delete(s.holders, device)
		}
	}
	if claim != nil && claim.Status.Allocation != nil {
		for _, r := range claim.Status.Allocation.Devices.Results {
			device := r.Pool + "/" + r.Device
			if other := s.holders[device]; other != "" {
				s.t.Errorf("%v: claims %s and %s have device %s", time.Now(), other, name, device)
			}
			s.holders[device] = name
		}
	}
	told, gone := claim, claim == nil
	if gone {
		told = was
	}
	at := time.Now().Add(time.Duration(s.dice.IntN(2000)) * time.Millisecond)
	if !at.After(s.heard) {
		at = s.heard.Add(1)
	}
	s.heard = at
	time.AfterFunc(time.Until(at), func() { s.watch(told.DeepCopy(), gone) })
	return claim
}

// change changes a claim at once, as controllers and drivers do.
func (s *claimServer) change(name string, change func(c *resourcev1.ResourceClaim)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.claims[name]; now != nil {
		next := now.DeepCopy()
		change(next)
		s.put(name, next)
	}
}

func (s *claimServer) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims[name] != nil {
		s.put(name, nil)
	}
}

func (s *claimServer) create(claim *resourcev1.ResourceClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(claim.Name, claim)
}

// carry carries a request out, or not, or later.
func (s *claimServer) carry(request func() (runtime.Object, error)) (bool, runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm || s.chance(70) {
		object, err := request()
		return true, object, err
	}
	s.faults++
	answer, within := io.ErrUnexpectedEOF, writeTimeout
	if s.chance(30) {
		answer, within = apierrors.NewInternalError(errors.New("etcdserver: request timed out")), bindSettles
	}
	switch s.dice.IntN(3) {
	case 0: // never
	case 1:
		_, _ = request()
	case 2:
		time.AfterFunc(time.Duration(s.dice.Int64N(int64(within-time.Second))), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			_, _ = request()
		})
	}
	return true, nil, answer
}

func (s *claimServer) get(name string) (*resourcev1.ResourceClaim, error) {
	if now := s.claims[name]; now != nil {
		return now, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), name)
}

func (s *claimServer) client() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("*", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return s.carry(func() (runtime.Object, error) {
			claim, err := s.do(action)
			if claim == nil {
				return nil, err
			}
			return claim.DeepCopy(), err
		})
	})
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return s.carry(func() (runtime.Object, error) {
			x := action.(clienttesting.PatchActionImpl)
			var patch podStatusPatch
			if err := json.Unmarshal(x.Patch, &patch); err != nil {
				return nil, err
			}
			s.named[x.Name] = patch.Status.Claim.ResourceClaimName
			return &v1.Pod{}, nil
		})
	})
	return client
}

func (s *claimServer) do(action clienttesting.Action) (*resourcev1.ResourceClaim, error) {
	switch x := action.(type) {
	case clienttesting.GetActionImpl:
		return s.get(x.Name)
	case clienttesting.CreateActionImpl:
		claim := x.Object.(*resourcev1.ResourceClaim).DeepCopy()
		if s.claims[claim.Name] != nil {
			return nil, apierrors.NewAlreadyExists(resourcev1.Resource("resourceclaims"), claim.Name)
		}
		claim.UID = types.UID(fmt.Sprintf("uid-%d", s.version))
		return s.put(claim.Name, claim), nil
	case clienttesting.UpdateActionImpl:
		claim := x.Object.(*resourcev1.ResourceClaim).DeepCopy()
		now, err := s.get(claim.Name)
		if err != nil {
			return nil, err
		}
		if now.ResourceVersion != claim.ResourceVersion || now.UID != claim.UID {
			return nil, apierrors.NewConflict(resourcev1.Resource("resourceclaims"), claim.Name, errors.New("it was changed"))
		}
		next := now.DeepCopy()
		if x.Subresource == "status" {
			if was := now.Status.Allocation; was != nil && claim.Status.Allocation != nil && !equality.Semantic.DeepEqual(was, claim.Status.Allocation) {
				s.t.Errorf("the allocation of claim %s is immutable", claim.Name)
				return nil, apierrors.NewInvalid(resourcev1.SchemeGroupVersion.WithKind("ResourceClaim").GroupKind(), claim.Name, nil)
			}
			next.Status = claim.Status
		} else {
			next.Finalizers = claim.Finalizers
		}
		return s.put(claim.Name, next), nil
	case clienttesting.PatchActionImpl:
		now, err := s.get(x.Name)
		if err != nil {
			return nil, err
		}
		var patch releasePatch
		if err := json.Unmarshal(x.Patch, &patch); err != nil {
			return nil, err
		}
		if now.UID != patch.Metadata.UID || patch.Metadata.ResourceVersion != "" && now.ResourceVersion != patch.Metadata.ResourceVersion {
			return nil, apierrors.NewConflict(resourcev1.Resource("resourceclaims"), x.Name, errors.New("it was changed"))
		}
		next := now.DeepCopy()
		next.Status.ReservedFor = slices.DeleteFunc(next.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
			return r.UID == patch.Status.ReservedFor[0].UID
		})
		return s.put(x.Name, next), nil
	case clienttesting.DeleteActionImpl:
		now, err := s.get(x.Name)
		switch {
		case err != nil:
			return nil, err
		case now.UID != *x.DeleteOptions.Preconditions.UID:
			return nil, apierrors.NewConflict(resourcev1.Resource("resourceclaims"), x.Name, errors.New("another UID"))
		case len(now.Finalizers) > 0:
			next := now.DeepCopy()
			next.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			return s.put(x.Name, next), nil
		}
		return s.put(x.Name, nil), nil
	}
	return nil, fmt.Errorf("BUG: %s of claims", action.GetVerb())
}
