package fields

import "github.com/berth-scheduler/berth/abi"

// nodes returns table 1: one row a node. Quantities are in the unit of the resource: milli-CPU, bytes, or a count.
func nodes() []Entry {
	return []Entry{
		{
			ID: 1, Table: abi.TableNodes, Go: "NodeName", List: "node", Name: "name", Type: abi.TypeBytes, Span: true,
			Meaning: "metadata.name", Points: PointsNodes, Source: FromNode,
		},
		{
			ID: 2, Table: abi.TableNodes, Go: "NodeFlags", List: "node", Name: "flags", Type: abi.TypeU8,
			Meaning: "bit 0: spec.unschedulable", Points: PointsNodes, Source: FromNode,
			Bits: []Bit{{Go: "NodeUnschedulable", Name: "unschedulable", Doc: "is spec.unschedulable"}},
		},
		{
			ID: 3, Table: abi.TableNodes, Go: "NodeAllocatable", List: "node", Name: "allocatable", Arg: ArgResource, Type: abi.TypeI64,
			Meaning: "status.allocatable, in milli-CPU, bytes or a count", Points: PointsNodes, Source: FromNode,
		},
		{
			ID: 4, Table: abi.TableNodes, Go: "NodeRequested", List: "node", Name: "requested", Arg: ArgResource, Type: abi.TypeI64,
			Meaning: "sum of the requests of the pods on the node, of all namespaces, assumed ones included; for `pods` their number",
			Points:  PointsPods, Source: FromPods,
			Doc: "is the sum of the requests of the pods on the node; for `pods` their number",
		},
		{
			ID: 5, Table: abi.TableNodes, Go: "NodeNonZeroRequested", List: "node", Name: "nonZeroRequested", Arg: ArgAmount,
			Type: abi.TypeI64, Meaning: "as 4, containers without a request counted with 100 milli-CPU and 200 MiB", Points: PointsPods,
			Source: FromPods,
			Doc:    "is milli-CPU and bytes requested, where a container without a request counts 100 milli-CPU and 200 MiB",
		},
		{
			ID: 6, Table: abi.TableNodes, Go: "NodeLabels", List: "node", Name: "labels", Type: abi.TypePair, Span: true,
			Meaning: "metadata.labels, all of them", Points: PointsNodes, Source: FromNode,
			Doc: "are all labels, unordered",
		},
		{
			ID: 7, Table: abi.TableNodes, Go: "NodeAnnotations", SDK: "Annotation", List: "nodeAnnotations", Arg: ArgKey,
			Type: abi.TypeU32, Meaning: "value id of metadata.annotations[key]", Points: PointsNodes, Source: FromNode,
			Doc: "is the value of a declared annotation key; {Absent} if the node does not have it",
		},
		{
			ID: 8, Table: abi.TableNodes, Go: "NodeTaints", List: "node", Name: "taints", Type: abi.TypeTaint, Span: true,
			Meaning: "spec.taints", Points: PointsNodes, Source: FromNode,
		},
		{
			ID: 9, Table: abi.TableNodes, Go: "NodePorts", List: "node", Name: "ports", Type: abi.TypePort, Span: true,
			Meaning: "host ports in use by pods of all namespaces; the id of `0.0.0.0` is every address", Points: PointsPods,
			Grant: "ports", Source: FromPods,
			Doc: "are the host ports in use",
		},
		{
			ID: 10, Table: abi.TableNodes, Go: "NodeImages", List: "node", Name: "images", Type: abi.TypeImage, Span: true,
			Meaning: "status.images, an entry a name", Points: PointsNodes, Grant: "images", Source: FromNode,
		},
		{
			ID: 11, Table: abi.TableNodes, Go: "NodeConditions", SDK: "Condition", List: "nodeConditions", Arg: ArgType,
			Type: abi.TypeU8, Meaning: "status.conditions: 0 absent, 1 True, 2 False, 3 Unknown", Points: PointsNodes, Source: FromNode,
			Doc: "is the status of a declared type of condition", Enum: "Condition",
		},
		{
			ID: 12, Table: abi.TableNodes, Go: "NodePods", List: "node", Name: "pods", Type: abi.TypeU32, Span: true,
			Meaning: "slots of the pods on the node that the plugin may see, in table 2", Points: PointsPods, Source: FromPods,
			Doc: "are the pods on the node that the plugin may see",
		},
		{
			ID: 13, Table: abi.TableNodes, Go: "NodeGenerations", List: "node", Name: "generation", Type: abi.TypeU64,
			Meaning: "of the row", Points: PointsNodes, ClusterOnly: true, Grant: "generations", Source: FromNode | FromPods,
			Doc: "is the row's generation",
		},
		{
			ID: 14, Table: abi.TableNodes, Go: "NodeLabel", SDK: "Label", List: "nodeLabels", Arg: ArgKey, Type: abi.TypeU32,
			Meaning: "value id of metadata.labels[key]", Points: PointsNodes, Source: FromNode,
			Doc: "is the value of a declared label key; {Absent} if the node does not have it",
		},
		{ID: 15, Table: abi.TableNodes, Meaning: "reserved: all annotations as a list", Reserved: true},
		{
			ID: 16, Table: abi.TableNodes, Go: "NodeZone", List: "node", Name: "zone", Type: abi.TypeU32,
			Meaning: "value id of the label topology.kubernetes.io/zone, or else of failure-domain.beta.kubernetes.io/zone",
			Points:  PointsNodes, Source: FromNode,
			Doc: "is the value of the label topology.kubernetes.io/zone, or else of its older name; {Absent} if the node has neither",
		},
		{
			ID: 17, Table: abi.TableNodes, Go: "NodeDeclaredFeatures", Meaning: "status.declaredFeatures", Points: PointsNodes,
			Source: FromNode, Native: true,
		},
		{
			ID: 162, Table: abi.TableNodes, Go: "NodeCapacity", List: "node", Name: "capacity", Arg: ArgResource, Type: abi.TypeI64,
			Meaning: "status.capacity, in milli-CPU, bytes or a count; a change of it alone is no event", Points: PointsNodes,
			Source: FromNode, Since: 1,
		},
		{
			ID: 163, Table: abi.TableNodes, Go: "NodeCreatedAt", List: "node", Name: "createdAt", Type: abi.TypeI64,
			Meaning: "metadata.creationTimestamp in seconds since 1970; 0 for none", Points: PointsNodes, Source: FromNode, Since: 1,
		},
		{
			ID: 167, Table: abi.TableNodes, Go: "NodeNominated", List: "node", Name: "nominated", Type: abi.TypeU32, Span: true,
			Meaning: "slots of the pods that are nominated to the node and that the plugin may see, in table 2; it needs `node: pods`",
			Points:  PointsPods, Source: FromPods, Since: 1, Doc: "are the pods that are nominated to the node and that the plugin may see",
		},
		{
			ID: 190, Table: abi.TableNodes, Go: "NodeFeed", SDK: "Feed", List: "feeds", Arg: ArgKey, Type: abi.TypeI64,
			Meaning: "what the feed says of the node, in its unit, rounded to its step; the last that it said if it is stale, 0 for none",
			Points:  PointsPods, Grant: GrantFeeds, Source: FromFeeds, Since: 1,
			Doc: "is what a declared feed says of the node, in the feed's unit; 0 if it has never said anything",
		},
		{
			ID: 191, Table: abi.TableNodes, Go: "NodeFeedState", SDK: "FeedState", List: "feeds", Arg: ArgKey, Type: abi.TypeU8,
			Meaning: "of the feed's value: 0 none, 1 fresh, 2 stale", Points: PointsPods, Grant: GrantFeeds, Source: FromFeeds, Since: 1,
			Doc: "is the state of what a declared feed says of the node", Enum: "FeedState",
		},
		{
			ID: 193, Table: abi.TableNodes, Go: "NodeRequestedSince", List: "node", Name: "requestedSince", Arg: ArgResource,
			Type: abi.TypeI64, Meaning: "sum of the requests of the pods on the node, of all namespaces, assumed ones included, which the " +
				"samples of the declared feeds cannot contain, by the oldest of these samples; feeds by a label of nodes do not count",
			Points: PointsPods, Grant: GrantFeeds, Source: FromPods | FromFeeds, Since: 1,
			Doc: "is the sum of the requests of pods on the node that the samples of the declared feeds cannot contain, by the oldest of " +
				"them",
		},
		{
			ID: 194, Table: abi.TableNodes, Go: "NodeObjectNumbers", SDK: "ObjectNumbers", List: ObjectColumns, Arg: ArgKey,
			Type: abi.TypeI64, Span: true, Meaning: "numbers of the node's object, for a column that is not of type string (4.22)",
			Points: PointsPods, Grant: GrantObjects, Source: FromFeeds, Since: 2,
			Doc: "are the values of a declared column of the node's object: integers, quantities in thousandths, times in seconds since 1970, " +
				"or 0 and 1",
		},
		{
			ID: 195, Table: abi.TableNodes, Go: "NodeObjectTexts", SDK: "ObjectTexts", List: ObjectColumns, Arg: ArgKey, Type: abi.TypeU32,
			Span: true, Meaning: "value ids of the node's object, for a column of type string (4.22)", Points: PointsPods,
			Grant: GrantObjects, Source: FromFeeds, Since: 2,
			Doc: "are the values of a declared column of type string of the node's object",
		},
	}
}

// GrantFeeds is the grant for what feeds say: the load of a node tells of all tenants on it. A grant names the feeds.
const GrantFeeds = "feeds"

// GrantObjects is the grant for fields of objects of the API. A grant names the resources.
const GrantObjects = "objects"

// pods returns table 2: one row (a slot) a pod on a node.
func pods() []Entry {
	return []Entry{
		{
			ID: 64, Table: abi.TablePods, Go: "PodNamespace", List: "pods", Name: "namespace", Type: abi.TypeU32,
			Meaning: "metadata.namespace", Points: PointsPods, Source: FromPods,
		},
		{
			ID: 65, Table: abi.TablePods, Go: "PodPriority", List: "pods", Name: "priority", Type: abi.TypeI32, Meaning: "spec.priority",
			Points: PointsPods, Source: FromPods,
		},
		{
			ID: 66, Table: abi.TablePods, Go: "PodRequests", List: "pods", Name: "requests", Arg: ArgResource, Type: abi.TypeI64,
			Meaning: "what the pod requests; 1 of pods", Points: PointsPods, Source: FromPods,
			Doc: "is what the pod requests of a resource",
		},
		{
			ID: 67, Table: abi.TablePods, Go: "PodLabels", List: "pods", Name: "labels", Type: abi.TypePair, Span: true,
			Meaning: "metadata.labels, all of them", Points: PointsPods, Source: FromPods,
			Doc: "are all labels, unordered",
		},
		{
			ID: 68, Table: abi.TablePods, Go: "PodAnnotations", SDK: "Annotation", List: "podAnnotations", Arg: ArgKey,
			Type: abi.TypeU32, Meaning: "value id of metadata.annotations[key], what plugins reserved included", Points: PointsPods,
			Source: FromPods,
			Doc:    "is the value of a declared annotation key, what plugins reserved included",
		},
		{
			ID: 69, Table: abi.TablePods, Go: "PodOwner", List: "pods", Name: "owner", Type: abi.TypeU32,
			Meaning: "`Kind/name` of the controlling owner; 0 for none", Points: PointsPods, Source: FromPods,
			Doc: "is `Kind/name` of the controlling owner; {Absent} for none",
		},
		{
			ID: 70, Table: abi.TablePods, Go: "PodLabel", SDK: "Label", List: "podLabels", Arg: ArgKey, Type: abi.TypeU32,
			Meaning: "value id of metadata.labels[key]", Points: PointsPods, Source: FromPods,
			Doc: "is the value of a declared label key",
		},
		{
			ID: 71, Table: abi.TablePods, Go: "PodFlags", List: "pods", Name: "flags", Type: abi.TypeU8, Meaning: "bit 0: being deleted",
			Points: PointsPods, Source: FromPods,
			Bits: []Bit{{Go: "PodTerminating", Name: "terminating", Doc: "reports whether the pod is being deleted"}},
		},
		{ID: 72, Table: abi.TablePods, Meaning: "reserved: all annotations as a list", Reserved: true},
		{
			ID: 73, Table: abi.TablePods, Go: "PodUID", SDK: "UID", List: "pods", Name: "uid", Type: abi.TypeBytes, Span: true,
			Meaning: "metadata.uid", Points: PointsPods, Source: FromPods,
		},
		{
			ID: 74, Table: abi.TablePods, Go: "PlacedPodName", List: "pods", Name: "name", Type: abi.TypeBytes, Span: true,
			Meaning: "metadata.name", Points: PointsPods, Source: FromPods,
		},
		{
			ID: 75, Table: abi.TablePods, Go: "PlacedPodLimits", List: "pods", Name: "limits", Arg: ArgResource, Type: abi.TypeI64,
			Meaning: "how much the pod may use; −1 if a container has no limit", Points: PointsPods, Source: FromPods, Since: 1,
			Doc: "is how much of a resource the pod may use; −1 if a container has no limit",
		},
		{
			ID: 76, Table: abi.TablePods, Go: "PlacedPodQOS", SDK: "QOS", List: "pods", Name: "qos", Type: abi.TypeU32,
			Meaning: "the QoS class: Guaranteed, Burstable or BestEffort", Points: PointsPods, Source: FromPods, Since: 1,
		},
		{
			ID: 77, Table: abi.TablePods, Go: "PlacedPodAssignedAt", List: "pods", Name: "assignedAt", Type: abi.TypeI64,
			Meaning: "when the pod got its node, in seconds since 1970: the time of the condition PodScheduled, or the host's while the API " +
				"does not say; 0 if neither is known",
			Points: PointsPods, Source: FromPods, Since: 1,
		},
		{
			ID: 78, Table: abi.TablePods, Go: "PlacedPodCreatedAt", List: "pods", Name: "createdAt", Type: abi.TypeI64,
			Meaning: "metadata.creationTimestamp in seconds since 1970; 0 for none", Points: PointsPods, Source: FromPods, Since: 1,
		},
		{
			ID: 79, Table: abi.TablePods, Go: "PlacedPodState", List: "pods", Name: "state", Type: abi.TypeU8,
			Meaning: "bit 0: status.phase is Running; bit 1: the condition Ready is True", Points: PointsPods, Source: FromPods, Since: 1,
			Bits: []Bit{
				{Go: "PodRunning", Name: "running", Doc: "reports whether status.phase is Running"},
				{Go: "PodReady", Name: "ready", Doc: "reports whether the condition Ready is True"},
			},
		},
	}
}

// stringTable returns table 3: one row an id.
func stringTable() []Entry {
	return []Entry{{ID: 192, Table: abi.TableStrings, Go: "StringBytes", SDK: "String", Type: abi.TypeBytes, Span: true, Meaning: "the string"}}
}

// namespaces returns table 4: one row a namespace that has an object.
func namespaces() []Entry {
	return []Entry{
		{
			ID: 224, Table: abi.TableNamespaces, Go: "NamespaceName", List: "namespaces", Name: "name", Type: abi.TypeU32,
			Meaning: "metadata.name, the id that pods' namespaces have", Points: PointsNamespaces, ClusterOnly: true,
			Grant: "namespaces", Source: FromNamespaces, NotKept: "it reads all namespaces",
			Doc: "is metadata.name; {Absent} for an empty row",
		},
		{
			ID: 225, Table: abi.TableNamespaces, Go: "NamespaceLabels", List: "namespaces", Name: "labels", Type: abi.TypePair,
			Span: true, Meaning: "metadata.labels, all of them", Points: PointsNamespaces, ClusterOnly: true, Grant: "namespaces",
			Source: FromNamespaces, NotKept: "it reads all namespaces",
			Doc: "are all labels, unordered",
		},
		{
			ID: 226, Table: abi.TableNamespaces, Go: "NamespaceLabel", SDK: "Label", List: "namespaceLabels", Arg: ArgKey,
			Type: abi.TypeU32, Meaning: "value id of metadata.labels[key]", Points: PointsNamespaces, ClusterOnly: true,
			Grant: "namespaces", Source: FromNamespaces, NotKept: "it reads all namespaces",
			Doc: "is the value of a declared label key",
		},
		{
			ID: 227, Table: abi.TableNamespaces, Go: "NamespaceRequested", List: "namespaces", Name: "requested", Arg: ArgResource,
			Type: abi.TypeI64, Meaning: "sum of the requests of the namespace's pods on nodes, assumed ones included; for `pods` their number",
			Points: PointsNamespaces, ClusterOnly: true, Grant: "namespaces", Source: FromNamespaces,
			NotKept: "it reads all namespaces", Since: 2,
			Doc: "is the sum of the requests of the namespace's pods on nodes; for `pods` their number",
		},
		{
			ID: 228, Table: abi.TableNamespaces, Go: "NamespaceObjectNumbers", SDK: "ObjectNumbers", List: ObjectColumns, Arg: ArgKey,
			Type: abi.TypeI64, Span: true, Meaning: "numbers of the namespace's object, for a column that is not of type string (4.22)",
			Points: PointsNamespaces, ClusterOnly: true, Grant: GrantObjects, Source: FromNamespaces, NotKept: "it reads all namespaces",
			Since: 2, Doc: "are the values of a declared column of the namespace's object: integers, quantities in thousandths, times in " +
				"seconds since 1970, or 0 and 1",
		},
		{
			ID: 229, Table: abi.TableNamespaces, Go: "NamespaceObjectTexts", SDK: "ObjectTexts", List: ObjectColumns, Arg: ArgKey,
			Type: abi.TypeU32, Span: true, Meaning: "value ids of the namespace's object, for a column of type string (4.22)",
			Points: PointsNamespaces, ClusterOnly: true, Grant: GrantObjects, Source: FromNamespaces, NotKept: "it reads all namespaces",
			Since: 2, Doc: "are the values of a declared column of type string of the namespace's object",
		},
	}
}
