package state

// EventResource names the kind of object that a cluster event is about. The
// names are those of k8s.io/kube-scheduler/framework.
type EventResource string

// The resources of cluster events.
const (
	// PodResource matches the three resources below.
	PodResource EventResource = "Pod"
	// AssignedPodResource is a pod on a node.
	AssignedPodResource EventResource = "AssignedPod"
	// UnscheduledPodResource is a pod without a node, other than the one that waits.
	UnscheduledPodResource EventResource = "UnscheduledPod"
	// TargetPodResource is the pod itself that waits.
	TargetPodResource EventResource = "TargetPod"

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
	// DeviceTaintRuleResource is a rule that taints devices, which kube-scheduler reports as updates of the slices that have them.
	DeviceTaintRuleResource EventResource = "resource.k8s.io/DeviceTaintRule"
	// NamespaceResource is a namespace; an update is one of its labels. k8s.io/kube-scheduler/framework does not have it.
	NamespaceResource EventResource = "Namespace"
	// FeedResource are numbers that the host fetches: every round with news is an update. k8s.io/kube-scheduler/framework does not have it.
	FeedResource EventResource = "Feed"
	// WildCardResource matches every resource when registered. An event with it moves every
	// parked pod.
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
	// UpdatePodScaleDown is a smaller request for any resource.
	UpdatePodScaleDown
	UpdatePodToleration
	// UpdatePodSchedulingGatesEliminated is the removal of the last gate.
	UpdatePodSchedulingGatesEliminated
	UpdatePodGeneratedResourceClaim
	// UpdateOther is a change without a specific action. Only plugins that register Update
	// receive it.
	UpdateOther
	// UpdateNodePreemptionPolicy is a change of spec.podPreemptionPolicy.
	UpdateNodePreemptionPolicy
	// UpdatePodScaleUp is a larger request for any resource.
	UpdatePodScaleUp
	// UpdatePodReady is a change of whether a pod runs or is ready, as Pod.State says. It comes with UpdateOther if nothing else changed,
	// because k8s.io/kube-scheduler/framework does not have it.
	UpdatePodReady
	// UpdateNamespaceLabel is a change of the labels of a namespace. It comes with UpdateOther, which is all that is known of it elsewhere.
	UpdateNamespaceLabel

	// AllActions is every action.
	AllActions = 1<<iota - 1
	// Update is every change of an existing object.
	Update = AllActions &^ (Add | Delete)
)

// actionNames returns the names of single actions, in the order of their values; UpdateOther has none.
func actionNames() []string {
	return []string{
		"Add", "Delete", "UpdateNodeAllocatable", "UpdateNodeLabel", "UpdateNodeTaint", "UpdateNodeCondition",
		"UpdateNodeAnnotation", "UpdateNodeDeclaredFeature", "UpdatePodLabel", "UpdatePodScaleDown", "UpdatePodToleration",
		"UpdatePodSchedulingGatesEliminated", "UpdatePodGeneratedResourceClaim", "", "UpdateNodePreemptionPolicy", "UpdatePodScaleUp",
		"UpdatePodReady", "UpdateNamespaceLabel",
	}
}

// String returns the action's name in k8s.io/kube-scheduler/framework. An action without a name
// there is Update or All.
func (a Action) String() string {
	for i, name := range actionNames() {
		if a == 1<<i && name != "" {
			return name
		}
	}
	if a == AllActions {
		return "All"
	}
	return "Update"
}

// ParseAction returns the action with a name. The name is that of the constant, as in
// k8s.io/kube-scheduler/framework.
func ParseAction(name string) (Action, bool) {
	switch name {
	case "All":
		return AllActions, true
	case "Update":
		return Update, true
	}
	for i, n := range actionNames() {
		if n == name && n != "" {
			return 1 << i, true
		}
	}
	return 0, false
}

// ClusterEvent is a change in the cluster that can make another attempt for parked pods
// worthwhile.
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

// Matches reports whether a registered event covers an incoming one: the resource is the same
// or wider, and the action is a registered one.
func (e ClusterEvent) Matches(incoming ClusterEvent) bool {
	if e.Resource == WildCardResource {
		return e.Action&incoming.Action != 0
	}
	sameResource := e.Resource == incoming.Resource || e.Resource == PodResource &&
		(incoming.Resource == AssignedPodResource || incoming.Resource == UnscheduledPodResource || incoming.Resource == TargetPodResource)
	return sameResource && e.Action&incoming.Action != 0
}

// WildCard reports whether the event moves every parked pod, whatever rejected it.
func (e ClusterEvent) WildCard() bool {
	return e.Resource == WildCardResource && e.Action == AllActions
}

// EventUnschedulableTimeout is the flush of pods that have been unschedulable for too long.
func EventUnschedulableTimeout() ClusterEvent {
	return ClusterEvent{Resource: WildCardResource, Action: AllActions, Label: "UnschedulableTimeout"}
}

// EventForceActivate is a plugin's request to retry a pod.
func EventForceActivate() ClusterEvent {
	return ClusterEvent{Resource: WildCardResource, Action: AllActions, Label: "ForceActivate"}
}

// PluginName is the object of EventPluginChange.
type PluginName string

// EventPluginChange says that a plugin has changed, was removed, or works again. Its object's
// New is the PluginName; it concerns the pods that the plugin rejected.
func EventPluginChange() ClusterEvent {
	return ClusterEvent{Resource: WildCardResource, Action: AllActions, Label: "PluginChange"}
}

// EventForgotten says that the queue kept too many events for pods in flight, and forgets them: any of them may have helped.
func EventForgotten() ClusterEvent {
	return ClusterEvent{Resource: WildCardResource, Action: AllActions, Label: "EventsForgotten"}
}

// EventAssignedPodDelete says that a pod was removed from a node, or that an assumed one was
// forgotten.
func EventAssignedPodDelete() ClusterEvent {
	return ClusterEvent{Resource: AssignedPodResource, Action: Delete}
}

// EventAssignedPodAdd says that a pod was added to a node.
func EventAssignedPodAdd() ClusterEvent {
	return ClusterEvent{Resource: AssignedPodResource, Action: Add}
}

// Object is what an event is about. At most one of the two pairs is set; Old is nil for an
// addition and New for a deletion. Objects other than nodes and pods are API objects.
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

// Requeue is the effect of an event on a parked pod.
type Requeue uint8

// The effects of an event.
const (
	// Leave means that the event cannot help the pod.
	Leave Requeue = iota
	// AfterBackoff means that a plugin that rejected the pod answered Queue, or failed to
	// answer: the pod is retried when its backoff is over.
	AfterBackoff
	// Immediately means that a plugin that returned Pending answered Queue: what the pod waited
	// for has happened, so it is not held back.
	Immediately
)
