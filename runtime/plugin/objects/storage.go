package objects

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Storage is what plugins know of the objects of storage. The objects are shared:
// never write to one that was read, copy it. A cycle sees one state of them: they
// change between cycles, as nodes and pods do. Lookups of what is not there
// return nil.
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

// Claims is the persistent volume claims.
type Claims interface {
	Claim(namespace, name string) *v1.PersistentVolumeClaim
}

// Volumes is the persistent volumes.
type Volumes interface {
	Volume(name string) *v1.PersistentVolume
	// VolumesOf returns the volumes of a storage class, "" for those without one,
	// in the order of their names.
	VolumesOf(class string) []*v1.PersistentVolume
}

// StorageClasses is the storage classes.
type StorageClasses interface {
	StorageClass(name string) *storagev1.StorageClass
}

// CSINodes is what CSI drivers can do on nodes. A CSINode has the name of its
// node.
type CSINodes interface {
	CSINode(node string) *storagev1.CSINode
}

// CSIDrivers is the CSI drivers of the cluster.
type CSIDrivers interface {
	CSIDriver(name string) *storagev1.CSIDriver
}

// StorageCapacities is how much storage is left where (KEP-1472).
type StorageCapacities interface {
	Capacity(namespace, name string) *storagev1.CSIStorageCapacity
	// CapacitiesOf returns the capacities for a storage class in the order of
	// their namespaces and names.
	CapacitiesOf(class string) []*storagev1.CSIStorageCapacity
}

// VolumeAttachments is the volumes that are attached to nodes, or are to be.
type VolumeAttachments interface {
	// AttachmentsTo returns the attachments to a node in the order of their names.
	AttachmentsTo(node string) []*storagev1.VolumeAttachment
}

// StorageChanges tells what has changed, for plugins that keep something of it.
type StorageChanges interface {
	// Since returns the objects that came, changed or went after a generation, in
	// the order of the changes, and the generation of the last one. known is false
	// if that is too long ago to be known: everything may have changed.
	Since(generation uint64) (changed []StorageKey, now uint64, known bool)
}

// StorageKey names an object of storage.
type StorageKey struct {
	Kind      state.EventResource
	Namespace string // of a claim or a capacity
	// Name is the object's name. For a VolumeAttachment it is the node's, since
	// attachments are looked up by node.
	Name string
}

// VolumeWriter writes on volumes and claims in the API. The object's resource
// version is a precondition; what comes back is the object as it is then.
type VolumeWriter interface {
	UpdateVolume(ctx context.Context, volume *v1.PersistentVolume) (*v1.PersistentVolume, error)
	UpdateClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error)
}

// StorageWaiter waits for others to do their part, like the controller that binds
// volumes.
type StorageWaiter interface {
	// Await calls done now and again as objects change, until it reports true or
	// fails, and returns its error. It returns the context's error when that ends,
	// and context.DeadlineExceeded after the timeout.
	Await(ctx context.Context, timeout time.Duration, done func() (bool, error)) error
}

// Existence tells what is there still, for plugins that wait.
type Existence interface {
	// NodeObject returns a node as it is now; nil if it is gone.
	NodeObject(name string) *v1.Node
	HasPod(namespace, name string) bool
}
