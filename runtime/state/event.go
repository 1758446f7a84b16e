package state

// EventResource names the kind of object that a cluster event is about. The
// names are those of k8s.io/kube-scheduler/framework.
type EventResource string

// The resources of cluster events.
const (
	// PodResource matches assigned and unscheduled pods alike.
	PodResource EventResource = "Pod"
	// AssignedPodResource is a pod on a node. Plugins register PodResource.
	AssignedPodResource EventResource = "AssignedPod"
	// UnscheduledPodResource is a pod without a node. Plugins register
	// PodResource.
	UnscheduledPodResource EventResource = "UnschedulablePod"

	NodeResource                  EventResource = "Node"
	PersistentVolumeResource      EventResource = "PersistentVolume"
	PersistentVolumeClaimResource EventResource = "PersistentVolumeClaim"
	CSINodeResource               EventResource = "storage.k8s.io/CSINode"
	CSIDriverResource             EventResource = "storage.k8s.io/CSIDriver"
	VolumeAttachmentResource      EventResource = "storage.k8s.io/VolumeAttachment"
	CSIStorageCapacityResource    EventResource = "storage.k8s.io/CSIStorageCapacity"
	StorageClassResource          EventResource = "storage.k8s.io/StorageClass"
	ResourceClaimResource         EventResource = "resource.k8s.io/ResourceClaim"
	ResourceSliceResource         EventResource = "resource.k8s.io/ResourceSlice"
	DeviceClassResource           EventResource = "resource.k8s.io/DeviceClass"
	// WildCardResource matches every resource when registered. An event with it
	// moves every parked pod.
	WildCardResource EventResource = "*"
)

// Action is a set of changes to an object.
type Action uint32

// The actions.
const (
	Add Action = 1 << iota
	Delete
	UpdateNodeAllocatable
	UpdateNodeLabel
	// UpdateNodeTaint is a change of taints or of spec.unschedulable.
	UpdateNodeTaint
	UpdateNodeCondition
	UpdateNodeAnnotation
	UpdateNodeDeclaredFeature
	UpdatePodLabel
	// UpdatePodScaleDown is a smaller request of any resource.
	UpdatePodScaleDown
	UpdatePodToleration
	// UpdatePodSchedulingGatesEliminated is the removal of the last gate.
	UpdatePodSchedulingGatesEliminated
	UpdatePodGeneratedResourceClaim
	// UpdateOther is a change that no specific action names. Only a plugin that
	// registers Update hears of it.
	UpdateOther

	// AllActions is every action.
	AllActions = 1<<iota - 1
	// Update is every change of an existing object.
	Update = AllActions &^ (Add | Delete)
)

// actionNames are the names of single actions, in order of their values.
func actionNames() []string {
	return []string{
		"Add", "Delete", "UpdateNodeAllocatable", "UpdateNodeLabel", "UpdateNodeTaint", "UpdateNodeCondition",
		"UpdateNodeAnnotation", "UpdateNodeDeclaredFeature", "UpdatePodLabel", "UpdatePodScaleDown", "UpdatePodToleration",
		"UpdatePodSchedulingGatesEliminated", "UpdatePodGeneratedResourceClaim",
	}
}

// String names the action as k8s.io/kube-scheduler/framework does; one that has no
// name there is Update, or All.
func (a Action) String() string {
	for i, name := range actionNames() {
		if a == 1<<i {
			return name
		}
	}
	if a == AllActions {
		return "All"
	}
	return "Update"
}

// ParseAction returns the action of a name, which is that of the constant, as in
// k8s.io/kube-scheduler/framework.
func ParseAction(name string) (Action, bool) {
	switch name {
	case "All":
		return AllActions, true
	case "Update":
		return Update, true
	}
	for i, n := range actionNames() {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// ClusterEvent is a change in the cluster that can make parked pods worth
// another try.
type ClusterEvent struct {
	Resource EventResource
	Action   Action
	// Label names a special event in logs and metrics.
	Label string
}

// Name names the event in logs and metrics, as kube-scheduler does.
func (e ClusterEvent) Name() string {
	if e.Label != "" {
		return e.Label
	}
	return string(e.Resource) + e.Action.String()
}

// Matches reports whether a registered event covers an incoming one: the
// resource is the same or wider, and the action one of those registered.
func (e ClusterEvent) Matches(incoming ClusterEvent) bool {
	if e.Resource == WildCardResource {
		return e.Action&incoming.Action != 0
	}
	sameResource := e.Resource == incoming.Resource || e.Resource == PodResource &&
		(incoming.Resource == AssignedPodResource || incoming.Resource == UnscheduledPodResource)
	return sameResource && e.Action&incoming.Action != 0
}

// WildCard reports whether the event moves every parked pod whatever rejected it.
func (e ClusterEvent) WildCard() bool {
	return e.Resource == WildCardResource && e.Action == AllActions
}

// EventUnschedulableTimeout is the flush of pods that stayed unschedulable too
// long.
func EventUnschedulableTimeout() ClusterEvent {
	return ClusterEvent{Resource: WildCardResource, Action: AllActions, Label: "UnschedulableTimeout"}
}

// EventForceActivate is a plugin's demand to try a pod again.
func EventForceActivate() ClusterEvent {
	return ClusterEvent{Resource: WildCardResource, Action: AllActions, Label: "ForceActivate"}
}

// PluginName is the object of EventPluginChange.
type PluginName string

// EventPluginChange is a plugin that has changed, is gone, or works again. Its
// object's New is the PluginName; it concerns the pods that the plugin rejected.
func EventPluginChange() ClusterEvent {
	return ClusterEvent{Resource: WildCardResource, Action: AllActions, Label: "PluginChange"}
}

// EventAssignedPodDelete is a pod gone from a node, or an assumed one forgotten.
func EventAssignedPodDelete() ClusterEvent {
	return ClusterEvent{Resource: AssignedPodResource, Action: Delete}
}

// EventAssignedPodAdd is a pod that came to a node.
func EventAssignedPodAdd() ClusterEvent {
	return ClusterEvent{Resource: AssignedPodResource, Action: Add}
}

// Object is what an event is about: at most one of the two pairs is set, Old nil
// for an addition and New nil for a deletion. Other kinds than nodes and pods
// come as the API's objects.
type Object struct {
	OldPod, NewPod   *Pod
	OldNode, NewNode *Node
	Old, New         any
}

// Hint is the answer to "may this event make this pod schedulable?".
type Hint uint8

// The hints.
const (
	// QueueSkip leaves the pod where it is.
	QueueSkip Hint = iota
	// Queue moves the pod to the active or the backoff queue.
	Queue
)

// Requeue is what an event means for a parked pod.
type Requeue uint8

// The meanings of an event.
const (
	// Leave means that the event cannot help the pod.
	Leave Requeue = iota
	// AfterBackoff means that a plugin that rejected the pod answered Queue, or
	// failed to answer: the pod is to be tried when its backoff is over.
	AfterBackoff
	// Immediately means that a plugin that said Pending did: what the pod waited
	// for has come, so it is not held back.
	Immediately
)
