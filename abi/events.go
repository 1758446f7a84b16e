package abi

// EventKind is the resource of a cluster event as guests see it (SPEC.md, 3.10).
type EventKind uint32

// The resources.
const (
	EventOther EventKind = iota
	EventPlacedPod
	EventUnplacedPod
	EventNode
	EventPersistentVolume
	EventPersistentVolumeClaim
	EventCSINode
	EventCSIDriver
	EventVolumeAttachment
	EventCSIStorageCapacity
	EventStorageClass
	EventResourceClaim
	EventResourceSlice
	EventDeviceClass
)

// EventAction is a set of changes to the object of an event (SPEC.md, 3.10).
type EventAction uint32

// The actions, as in k8s.io/kube-scheduler/framework.
const (
	ActionAdd EventAction = 1 << iota
	ActionDelete
	ActionUpdateNodeAllocatable
	ActionUpdateNodeLabel
	ActionUpdateNodeTaint
	ActionUpdateNodeCondition
	ActionUpdateNodeAnnotation
	ActionUpdateNodeDeclaredFeature
	ActionUpdatePodLabel
	ActionUpdatePodScaleDown
	ActionUpdatePodToleration
	ActionUpdatePodSchedulingGatesEliminated
	ActionUpdatePodGeneratedResourceClaim
	ActionUpdateOther
)
