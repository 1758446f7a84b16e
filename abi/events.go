package abi

// EventKind is the resource of a cluster event as guests see it (SPEC.md, 3.10).
type EventKind uint32

// The resources. Generated from abi/fields.
const (
	EventOther                 EventKind = 0
	EventPlacedPod             EventKind = 1
	EventUnplacedPod           EventKind = 2
	EventNode                  EventKind = 3
	EventPersistentVolume      EventKind = 4
	EventPersistentVolumeClaim EventKind = 5
	EventCSINode               EventKind = 6
	EventCSIDriver             EventKind = 7
	EventVolumeAttachment      EventKind = 8
	EventCSIStorageCapacity    EventKind = 9
	EventStorageClass          EventKind = 10
	EventResourceClaim         EventKind = 11
	EventResourceSlice         EventKind = 12
	EventDeviceClass           EventKind = 13
	EventNamespaceObject       EventKind = 14
)

// EventAction is a set of changes to the object of an event (SPEC.md, 3.10).
type EventAction uint32

// The actions, as in k8s.io/kube-scheduler/framework. Generated from abi/fields.
const (
	ActionAdd                                EventAction = 1 << 0
	ActionDelete                             EventAction = 1 << 1
	ActionUpdateNodeAllocatable              EventAction = 1 << 2
	ActionUpdateNodeLabel                    EventAction = 1 << 3
	ActionUpdateNodeTaint                    EventAction = 1 << 4
	ActionUpdateNodeCondition                EventAction = 1 << 5
	ActionUpdateNodeAnnotation               EventAction = 1 << 6
	ActionUpdateNodeDeclaredFeature          EventAction = 1 << 7
	ActionUpdatePodLabel                     EventAction = 1 << 8
	ActionUpdatePodScaleDown                 EventAction = 1 << 9
	ActionUpdatePodToleration                EventAction = 1 << 10
	ActionUpdatePodSchedulingGatesEliminated EventAction = 1 << 11
	ActionUpdatePodGeneratedResourceClaim    EventAction = 1 << 12
	ActionUpdateOther                        EventAction = 1 << 13
	ActionUpdatePodReady                     EventAction = 1 << 14
	ActionUpdateNamespaceLabel               EventAction = 1 << 15
)
