package objects

import resourcev1 "k8s.io/api/resource/v1"

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
	// ResourceSlices returns all slices, sorted by name.
	ResourceSlices() []*resourcev1.ResourceSlice
}

// DeviceClasses finds device classes.
type DeviceClasses interface {
	DeviceClass(name string) *resourcev1.DeviceClass
	// DeviceClasses returns all classes, sorted by name.
	DeviceClasses() []*resourcev1.DeviceClass
}
