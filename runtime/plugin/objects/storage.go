package objects

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Storage gives plugins access to storage objects. The objects are shared: never change one,
// copy it. A cycle sees one state of them, because they change only between cycles, as nodes
// and pods do. Lookups of missing objects return nil.
type Storage struct {
	Claims     Claims
	Volumes    Volumes
	Classes    StorageClasses
	CSINodes   CSINodes
	CSIDrivers CSIDrivers
	Capacities StorageCapacities
	Attached   VolumeAttachments
	Changes    StorageChanges
}

// Claims finds persistent volume claims.
type Claims interface {
	Claim(namespace, name string) *v1.PersistentVolumeClaim
}

// Volumes finds persistent volumes.
type Volumes interface {
	Volume(name string) *v1.PersistentVolume
	// VolumesOf returns the volumes of a storage class, "" for those without one, sorted by
	// name.
	VolumesOf(class string) []*v1.PersistentVolume
}

// StorageClasses finds storage classes.
type StorageClasses interface {
	StorageClass(name string) *storagev1.StorageClass
}

// CSINodes finds what CSI drivers support on nodes. A CSINode has the name of its node.
type CSINodes interface {
	CSINode(node string) *storagev1.CSINode
}

// CSIDrivers finds the CSI drivers of the cluster.
type CSIDrivers interface {
	CSIDriver(name string) *storagev1.CSIDriver
}

// StorageCapacities finds how much storage is left (KEP-1472).
type StorageCapacities interface {
	Capacity(namespace, name string) *storagev1.CSIStorageCapacity
	// CapacitiesOf returns the capacities for a storage class, sorted by namespace and name.
	CapacitiesOf(class string) []*storagev1.CSIStorageCapacity
}

// VolumeAttachments finds volumes that are, or are to be, attached to nodes.
type VolumeAttachments interface {
	// AttachmentsTo returns the attachments to a node, sorted by name.
	AttachmentsTo(node string) []*storagev1.VolumeAttachment
}

// StorageChanges returns changes, for plugins that cache storage objects.
type StorageChanges interface {
	// Since returns the objects that were added, changed or removed after a generation, in the
	// order of the changes, and the current generation. known is false if the generation is too
	// old: everything may have changed.
	Since(generation uint64) (changed []StorageKey, now uint64, known bool)
}

// StorageKey names a storage object, or one of dynamic resource allocation.
type StorageKey struct {
	Kind      state.EventResource
	Namespace string // of a claim, a capacity or a resource claim
	// Name is the object's name. For a VolumeAttachment it is the node's, because attachments
	// are looked up by node.
	Name string
}

// VolumeWriter writes volumes and claims to the API. The object's resource version is a
// precondition; the result is the updated object.
type VolumeWriter interface {
	UpdateVolume(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error)
	UpdateClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error)
}

// StorageWaiter waits for others, such as the controller that binds volumes.
type StorageWaiter interface {
	// Await calls done repeatedly as objects change, until it returns true or an error, and
	// returns that error. It returns the context's error when that ends, and
	// context.DeadlineExceeded after the timeout.
	Await(ctx context.Context, timeout time.Duration, done func() (bool, error)) error
}

// Existence reports what still exists, for plugins that wait.
type Existence interface {
	// NodeObject returns the current version of a node; nil if it does not exist.
	NodeObject(name string) *v1.Node
	HasPod(namespace, name string) bool
}
