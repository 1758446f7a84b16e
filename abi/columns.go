package abi

// TableID names a table of a snapshot (SPEC.md, section 4).
type TableID uint32

// The tables.
const (
	TableNodes      TableID = 1
	TablePods       TableID = 2
	TableStrings    TableID = 3
	TableNamespaces TableID = 4
)

// ColumnID names a column of a table, or a field of the pod record. A plugin
// declares the ids that it reads. An id never changes its meaning.
type ColumnID uint32

// ArenaOf is the distance from a column of spans to the column that holds their
// elements.
const ArenaOf ColumnID = 256

// Columns of the nodes table: one element a row. Quantities are int64 in the
// unit of the resource: milli-CPU, bytes, or a count.
const (
	// NodeName is the node's name, as bytes: names are never interned.
	NodeName ColumnID = 1
	// NodeFlags has the bits NodeUnschedulable … of the row.
	NodeFlags ColumnID = 2
	// NodeAllocatable is status.allocatable, a column for each resource.
	NodeAllocatable ColumnID = 3
	// NodeRequested is the sum of the requests of the row's pods, a column for
	// each resource, assumed pods included.
	NodeRequested ColumnID = 4
	// NodeNonZeroRequested is milli-CPU and bytes requested, where a container
	// without a request counts 100 milli-CPU and 200 MiB, as in kube-scheduler's
	// scores.
	NodeNonZeroRequested ColumnID = 5
	// NodeLabels is metadata.labels, as lists of (key, value).
	NodeLabels ColumnID = 6
	// NodeAnnotations is metadata.annotations, a dense column for each declared
	// key.
	NodeAnnotations ColumnID = 7
	// NodeTaints is spec.taints.
	NodeTaints ColumnID = 8
	// NodePorts is the host ports that the row's pods use.
	NodePorts ColumnID = 9
	// NodeImages is status.images.
	NodeImages ColumnID = 10
	// NodeConditions is status.conditions, a dense column for each declared type.
	NodeConditions ColumnID = 11
	// NodePods is the slots of the row's pods in the pods table.
	NodePods ColumnID = 12
	// NodeGenerations is the row's generation.
	NodeGenerations ColumnID = 13
	// NodeLabel is metadata.labels, a dense column for each declared key.
	NodeLabel ColumnID = 14
	// NodeZone is the value of the zone label, or of its older name.
	NodeZone ColumnID = 16
	// NodeDeclaredFeatures is status.declaredFeatures, for native plugins only.
	NodeDeclaredFeatures ColumnID = 17
)

// Bits of the NodeFlags column.
const (
	// NodeUnschedulable is spec.unschedulable.
	NodeUnschedulable uint8 = 1 << iota
)

// Columns of the pods table: one element a slot.
const (
	PodNamespace   ColumnID = 64
	PodPriority    ColumnID = 65
	PodRequests    ColumnID = 66
	PodLabels      ColumnID = 67
	PodAnnotations ColumnID = 68
	// PodOwner is "Kind/name" of the controlling owner.
	PodOwner ColumnID = 69
	// PodLabel is metadata.labels, a dense column for each declared key.
	PodLabel ColumnID = 70
	PodFlags ColumnID = 71
	// PodUID and PlacedPodName are bytes: they are never interned.
	PodUID        ColumnID = 73
	PlacedPodName ColumnID = 74
)

// Bits of the PodFlags column.
const (
	// PodTerminating is a pod that is being deleted.
	PodTerminating uint8 = 1 << iota
)

// Columns of the namespaces table: one element a row.
const (
	NamespaceName ColumnID = 224
	// NamespaceLabels is metadata.labels, as lists of (key, value).
	NamespaceLabels ColumnID = 225
	// NamespaceLabel is metadata.labels, a dense column for each declared key.
	NamespaceLabel ColumnID = 226
)

// StringBytes is the column of the strings table: the bytes of each string.
const StringBytes ColumnID = 192

// Fields of the incoming pod: those of the pod record, and those that only
// native plugins read so far.
const (
	PodName             ColumnID = 128
	PodNodeName         ColumnID = 129
	PodNodeSelector     ColumnID = 130
	PodTolerations      ColumnID = 131
	PodHostPorts        ColumnID = 132
	PodImages           ColumnID = 133
	PodSchedulingGates  ColumnID = 134
	PodQueueTime        ColumnID = 135
	PodWhole            ColumnID = 136
	PodVolumes          ColumnID = 137
	PodSpreadConstraint ColumnID = 138
	PodAffinity         ColumnID = 139

	IncomingNamespace   ColumnID = 140
	IncomingPriority    ColumnID = 141
	IncomingRequests    ColumnID = 142
	IncomingLabels      ColumnID = 143
	IncomingAnnotations ColumnID = 144
	IncomingOwner       ColumnID = 145
	PodRequiredTerms    ColumnID = 146
	PodPreferredTerms   ColumnID = 147
	PodRequirements     ColumnID = 148
	PodRequirementIDs   ColumnID = 149
	IncomingNonZero     ColumnID = 150
	// IncomingNamespaceLabels is the labels of the pod's namespace.
	IncomingNamespaceLabels ColumnID = 151
	IncomingUID             ColumnID = 152
	// PodDeclaredFeatures is what a node must declare to run the pod (KEP-5328).
	PodDeclaredFeatures ColumnID = 153
)
