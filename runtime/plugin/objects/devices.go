package objects

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Devices gives plugins access to the objects of dynamic resource allocation (KEP-4381). As with
// Storage, the objects are shared and a cycle sees one state of them. Lookups of missing objects
// return nil.
type Devices struct {
	Claims  ResourceClaims
	Slices  ResourceSlices
	Classes DeviceClasses
	Changes StorageChanges
}

// ResourceClaims finds resource claims.
type ResourceClaims interface {
	ResourceClaim(namespace, name string) *resourcev1.ResourceClaim
	// ResourceClaims returns all claims, sorted by namespace and name.
	ResourceClaims() []*resourcev1.ResourceClaim
}

// ResourceSlices finds the devices of the cluster.
type ResourceSlices interface {
	// ResourceSlices returns all slices, sorted by name, with the taints that DeviceTaintRules give their devices.
	ResourceSlices() []*resourcev1.ResourceSlice
}

// DeviceClasses finds device classes.
type DeviceClasses interface {
	DeviceClass(name string) *resourcev1.DeviceClass
	// DeviceClasses returns all classes, sorted by name.
	DeviceClasses() []*resourcev1.DeviceClass
}

// ClaimWriter writes resource claims to the API. What the API server answers enters the scheduler's
// loop before a call returns, or, if nobody knows whether it has carried a write out, what it may
// have. Requests about a claim are sent in the order of the calls, and after one without an answer when that one can
// no longer be carried out.
type ClaimWriter interface {
	// Read returns the current version of a claim.
	Read(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error)
	// Update writes a claim without its status, and UpdateStatus its status. The resource version is
	// a precondition; the result is the new version.
	Update(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error)
	UpdateStatus(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error)
	// Create creates a claim. If it exists already, made for the same pod, that is the result: an answer
	// may have been lost.
	Create(ctx context.Context, claim *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error)
	// Tell writes into a pod's status which claim has its extended resources.
	Tell(ctx context.Context, pod *state.Pod, status *v1.PodExtendedResourceClaimStatus) error
	// Delete begins to remove the finalizer of a claim and to delete it, and returns what is closed when that
	// has ended.
	Delete(claim *resourcev1.ResourceClaim) <-chan struct{}
	// Release begins to remove a pod from a claim's status.reservedFor, and returns.
	Release(claim *resourcev1.ResourceClaim, pod types.UID)
	// Deallocate begins to write the status of a claim that a pod gives up, and returns. The pod is
	// tried again if the write fails.
	Deallocate(claim *resourcev1.ResourceClaim, pod types.UID)
	// Waiting reports that a pod waits for its devices on a node. The caller calls ended with how the wait
	// ended, one of success, failure, timeout and error, and the pod's claims.
	Waiting(pod *state.Pod, node string) (ended func(result string, claims []*resourcev1.ResourceClaim))
}

// Search bounds searches for devices. How long a search takes is no property of what is searched, so
// searches that were cut off are recorded.
type Search interface {
	// Within calls a function for a node with a context that ends after a timeout, 0 for none, and
	// returns its error: context.DeadlineExceeded, possibly wrapped, if it was cut off.
	Within(ctx context.Context, node string, timeout time.Duration, search func(ctx context.Context) error) error
}
