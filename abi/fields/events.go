package fields

import "github.com/berth-scheduler/berth/abi"

// Event is a resource of cluster events (ABI-3.10).
type Event struct {
	Kind abi.EventKind
	// Go is its name in package abi after Event, and in Rust. SDK is that in the other SDKs; empty if it is the same. Both are empty
	// for a resource that has no number.
	Go, SDK string
	// Resource is its name in the manifest's events; empty if it has none.
	Resource string
	// Meaning is the text in SPEC.md; empty if that is Resource.
	Meaning string
	// Cluster says that its objects have no namespace.
	Cluster bool
	// Grant is what a plugin of a tenant must be granted to get the events, because they tell of other tenants; empty for nothing.
	Grant string
	// Since is the minor version of the ABI that first had it.
	Since int
}

// Events returns the resources in the order of their numbers, and after them those that have none.
func Events() []Event {
	const volumes = "volumeEvents"
	return []Event{
		{Kind: 0, Go: "Other", SDK: "Any", Meaning: "any, or one that is not listed"},
		{Kind: 1, Go: "PlacedPod", SDK: "AssignedPod", Resource: "Pod", Meaning: "Pod on a node"},
		{Kind: 2, Go: "UnplacedPod", SDK: "UnscheduledPod", Resource: "Pod", Meaning: "Pod that is not placed"},
		{Kind: 3, Go: "Node", Resource: "Node", Cluster: true},
		{Kind: 4, Go: "PersistentVolume", Resource: "PersistentVolume", Cluster: true, Grant: volumes},
		{Kind: 5, Go: "PersistentVolumeClaim", Resource: "PersistentVolumeClaim", Grant: volumes},
		{Kind: 6, Go: "CSINode", Resource: "storage.k8s.io/CSINode", Cluster: true},
		{Kind: 7, Go: "CSIDriver", Resource: "storage.k8s.io/CSIDriver", Cluster: true},
		{Kind: 8, Go: "VolumeAttachment", Resource: "storage.k8s.io/VolumeAttachment", Cluster: true, Grant: volumes},
		{Kind: 9, Go: "CSIStorageCapacity", Resource: "storage.k8s.io/CSIStorageCapacity", Grant: volumes},
		{Kind: 10, Go: "StorageClass", Resource: "storage.k8s.io/StorageClass", Cluster: true},
		{Kind: 11, Go: "ResourceClaim", Resource: "resource.k8s.io/ResourceClaim", Grant: volumes},
		{Kind: 12, Go: "ResourceSlice", Resource: "resource.k8s.io/ResourceSlice", Cluster: true},
		{Kind: 13, Go: "DeviceClass", Resource: "resource.k8s.io/DeviceClass", Cluster: true},
		{Kind: 14, Go: "NamespaceObject", SDK: "Namespace", Resource: "Namespace", Cluster: true, Since: 1},

		{Resource: "scheduling.k8s.io/PodGroup"},
		{Resource: "Feed", Cluster: true, Since: 1},
		{Resource: "*", Grant: volumes},
	}
}

// EventKind returns the number of a resource by its name in manifests; that of pods is the one of pods that are not placed.
func EventKind(resource string) (kind abi.EventKind) {
	for _, e := range Events() {
		if e.Resource == resource {
			kind = e.Kind
		}
	}
	return kind
}

// Action is a change to the object of an event (ABI-3.10).
type Action struct {
	Bit abi.EventAction
	// Name is its name in manifests, in package abi after Action, and in the SDKs. Meaning is the text in SPEC.md; empty if that is Name.
	Name, Meaning string
	// Since is the minor version of the ABI that first had it.
	Since int
}

// Actions returns the actions in the order of their bits. UpdateOther is every other update, whose name in manifests is Update.
func Actions() []Action {
	out := []Action{
		{Name: "Add"}, {Name: "Delete"},
		{Name: "UpdateNodeAllocatable"}, {Name: "UpdateNodeLabel"}, {Name: "UpdateNodeTaint"}, {Name: "UpdateNodeCondition"},
		{Name: "UpdateNodeAnnotation"}, {Name: "UpdateNodeDeclaredFeature"},
		{Name: "UpdatePodLabel"}, {Name: "UpdatePodScaleDown"}, {Name: "UpdatePodToleration"}, {Name: "UpdatePodSchedulingGatesEliminated"},
		{Name: "UpdatePodGeneratedResourceClaim"},
		{Name: "UpdateOther", Meaning: "another update"},
		{Name: "UpdatePodReady", Since: 1},
		{Name: "UpdateNamespaceLabel", Since: 1},
	}
	for i := range out {
		out[i].Bit = 1 << i
	}
	return out
}
