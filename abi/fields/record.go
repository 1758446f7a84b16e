package fields

import "github.com/berth-scheduler/berth/abi"

// record returns the fields of the pod record, and what native plugins read of the pod besides.
func record() []Entry {
	return []Entry{
		{
			ID: 128, Go: "PodName", List: "pod", Name: "name", Type: abi.TypeBytes, Meaning: "metadata.name", Source: FromPod,
			NotKept: "it reads the pod's name",
		},
		{
			ID: 129, Go: "PodNodeName", List: "pod", Name: "nodeName", Type: abi.TypeBytes,
			Meaning: "spec.nodeName; from reserve on the chosen node", Points: PointsPlaced, Source: FromPod,
		},
		{
			ID: 130, Go: "PodNodeSelector", List: "pod", Name: "nodeSelector", Elements: "requirement", Size: abi.RequirementSize,
			Meaning: "spec.nodeSelector: all must hold", Source: FromPod,
		},
		{
			ID: 131, Go: "PodTolerations", List: "pod", Name: "tolerations",
			Elements: "24 bytes: u32 key, u32 value, u32 operator (1 Equal, 2 Exists), u32 effect (0 all), i64 toleration seconds, −1 for none",
			Size:     abi.TolerationSize,
			Meaning: "spec.tolerations; key 0 with Exists is every key; the value of an Equal toleration or a taint without one is the id " +
				"of the empty string, that of an Exists toleration is 0; a toleration that compares numbers (Gt, Lt) is left out",
			Source: FromPod,
		},
		{
			ID: 132, Go: "PodHostPorts", List: "pod", Name: "hostPorts", Type: abi.TypePort, Meaning: "host ports asked for",
			Source: FromPod,
		},
		{
			ID: 133, Go: "PodImages", List: "pod", Name: "images", Type: abi.TypeU32, Meaning: "normalised image names, one a container",
			Source: FromPod,
		},
		{
			ID: 134, Go: "PodSchedulingGates", List: "pod", Name: "schedulingGates", Type: abi.TypeU32,
			Meaning: "names of spec.schedulingGates", Source: FromPod,
		},
		{
			ID: 135, Go: "PodQueueTime", Meaning: "when the pod was queued", Source: FromPod, NotKept: "it reads when the pod was queued",
			Native: true,
		},
		{
			ID: 136, Go: "PodWhole", Meaning: "the whole pod, for what has no field", Source: FromPod, NotKept: "it reads the whole pod",
			Native: true,
		},
		{ID: 137, Go: "PodVolumes", Meaning: "spec.volumes", Source: FromPod, NotKept: "it reads the pod's volumes", Native: true},
		{
			ID: 138, Go: "PodSpreadConstraint", Meaning: "spec.topologySpreadConstraints", Source: FromPod,
			NotKept: "it reads the whole pod", Native: true,
		},
		{
			ID: 139, Go: "PodAffinity", Meaning: "affinity and anti-affinity to pods", Source: FromPod, NotKept: "it reads the whole pod",
			Native: true,
		},
		{
			ID: 140, Go: "IncomingNamespace", List: "pod", Name: "namespace", Type: abi.TypeU32, Count: 1,
			Meaning: "one element, metadata.namespace", Source: FromPod,
		},
		{ID: 141, Go: "IncomingPriority", List: "pod", Name: "priority", Type: abi.TypeI64, Count: 1, Meaning: "one element", Source: FromPod},
		{
			ID: 142, Go: "IncomingRequests", List: "pod", Name: "requests", Arg: ArgResource, Type: abi.TypeI64, Count: 1, Meaning: "one element",
			Source: FromPod,
		},
		{ID: 143, Go: "IncomingLabels", List: "pod", Name: "labels", Type: abi.TypePair, Meaning: "metadata.labels", Source: FromPod},
		{
			ID: 144, Go: "IncomingAnnotations", List: "pod", Name: "annotations", Arg: ArgKey, Type: abi.TypeU32, Count: 1,
			Meaning: "one element, metadata.annotations of `podAnnotations`", Source: FromPod,
		},
		{
			ID: 145, Go: "IncomingOwner", List: "pod", Name: "owner", Type: abi.TypeU32, Count: 1, Meaning: "one element, `Kind/name`",
			Source: FromPod,
		},
		{
			ID: 146, Go: "PodRequiredTerms", SDK: "RequiredTerms", List: "pod", Name: "affinity", Elements: "term", Size: abi.TermSize,
			Meaning: "required node affinity: one must hold; absent if there is none", Source: FromPod,
		},
		{
			ID: 147, Go: "PodPreferredTerms", SDK: "PreferredTerms", List: "pod", Name: "affinity", Elements: "term", Size: abi.TermSize,
			Meaning: "preferred node affinity", Source: FromPod,
		},
		{
			ID: 148, Go: "PodRequirements", SDK: "Requirements", List: "pod", Name: "affinity", Elements: "requirement", Size: abi.RequirementSize,
			Meaning: "those that terms refer to", Source: FromPod, Refers: true,
		},
		{
			ID: 149, Go: "PodRequirementIDs", SDK: "RequirementValues", List: "pod", Name: "affinity", AlsoName: "nodeSelector",
			Type: abi.TypeU32, Meaning: "string ids that requirements refer to", Source: FromPod, Refers: true,
		},
		{
			ID: 150, Go: "IncomingNonZero", List: "pod", Name: "nonZeroRequested", Type: abi.TypeI64, Count: 2,
			Meaning: "two elements: milli-CPU, bytes", Source: FromPod,
		},
		{
			ID: 151, Go: "IncomingNamespaceLabels", List: "pod", Name: "namespaceLabels", Type: abi.TypePair,
			Meaning: "metadata.labels of the pod's namespace", Source: FromPod,
		},
		{
			ID: 152, Go: "IncomingUID", SDK: "UID", List: "pod", Name: "uid", Type: abi.TypeBytes, Meaning: "metadata.uid",
			Source: FromPod, NotKept: "it reads the pod's UID",
		},
		{
			ID: 153, Go: "PodDeclaredFeatures", Meaning: "what a node must declare to run the pod (KEP-5328)", Source: FromPod,
			Native: true,
		},
		{
			ID: 154, Go: "IncomingCreatedAt", List: "pod", Name: "createdAt", Type: abi.TypeI64, Count: 1,
			Meaning: "one element, metadata.creationTimestamp in seconds since 1970; 0 for none", Source: FromPod, Since: 1,
		},
		{
			ID: 155, Go: "IncomingPriorityClass", List: "pod", Name: "priorityClass", Type: abi.TypeU32, Count: 1,
			Meaning: "one element, spec.priorityClassName; 0 for none", Source: FromPod, Since: 1,
		},
		{
			ID: 156, Go: "IncomingServiceAccount", List: "pod", Name: "serviceAccount", Type: abi.TypeU32, Count: 1,
			Meaning: "one element, spec.serviceAccountName; 0 for none", Source: FromPod, Since: 1,
		},
		{
			ID: 157, Go: "IncomingPreemptionPolicy", List: "pod", Name: "preemptionPolicy", Type: abi.TypeU32, Count: 1,
			Meaning: "one element, spec.preemptionPolicy; PreemptLowerPriority if it is not set", Source: FromPod, Since: 1,
		},
		{
			ID: 158, Go: "IncomingGroup", List: "pod", Name: "group", Type: abi.TypeU32, Count: 1,
			Meaning: "one element, spec.schedulingGroup.podGroupName; 0 for none", Source: FromPod, Since: 1,
		},
		{
			ID: 159, Go: "IncomingLimits", List: "pod", Name: "limits", Arg: ArgResource, Type: abi.TypeI64, Count: 1,
			Meaning: "one element, how much the pod may use; −1 if a container has no limit", Source: FromPod, Since: 1,
		},
		{
			ID: 160, Go: "IncomingQOS", SDK: "QOS", List: "pod", Name: "qos", Type: abi.TypeU32, Count: 1,
			Meaning: "one element, the QoS class: Guaranteed, Burstable or BestEffort", Source: FromPod, Since: 1,
		},
		{
			ID: 161, Go: "IncomingClaims", List: "pod", Name: "claims", Type: abi.TypeU32,
			Meaning: "names of the persistent volume claims of spec.volumes, also of ephemeral ones", Source: FromPod, Since: 1,
		},
		{
			ID: 164, Go: "IncomingNow", List: "pod", Name: "now", Type: abi.TypeI64, Count: 1,
			Meaning: "one element, the time in seconds since 1970, in steps of `resolution`; 0 at queueSort, hint, unreserve and from preBind on (6.7)",
			Points:  PointsTimed, Source: FromClock, Since: 1,
		},
		{
			ID: 165, Go: "IncomingContainers", List: "pod", Name: "containers", Elements: "container", Size: abi.ContainerSize,
			Meaning: "init containers, and then the others, each in the order of spec", Source: FromPod, Since: 1, ByResource: true,
		},
		{
			ID: 166, Go: "IncomingContainerAmounts", SDK: "ContainerAmounts", List: "pod", Name: "containers", Type: abi.TypeI64,
			Meaning: "what containers refer to: for each of `resources` a request and a limit", Source: FromPod, Since: 1, Refers: true,
		},
	}
}
