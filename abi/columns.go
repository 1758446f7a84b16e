package abi

// TableID names a table of a snapshot.
type TableID uint32

// The tables.
const (
	TableNodes      TableID = 1
	TablePods       TableID = 2
	TableStrings    TableID = 3
	TableNamespaces TableID = 4
)

// ColumnID names a column of a table, or a group of columns that belong
// together. A plugin declares the ids that it reads.
type ColumnID uint32

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
	// without a request counts 100 milli-CPU and 200 MB, as in kube-scheduler's
	// scores.
	NodeNonZeroRequested ColumnID = 5
	// NodeLabels is metadata.labels: a dense value-id column for common keys,
	// (key, value) lists for all.
	NodeLabels ColumnID = 6
	// NodeAnnotations is metadata.annotations, for declared keys only.
	NodeAnnotations ColumnID = 7
	// NodeTaints is spec.taints.
	NodeTaints ColumnID = 8
	// NodePorts is the host ports that the row's pods use.
	NodePorts ColumnID = 9
	// NodeImages is status.images.
	NodeImages ColumnID = 10
	// NodeConditions is status.conditions.
	NodeConditions ColumnID = 11
	// NodePods is the slots of the row's pods in the pods table.
	NodePods ColumnID = 12
	// NodeGenerations is the row's generations.
	NodeGenerations ColumnID = 13
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
	PodOwner       ColumnID = 69
)

// Fields of the incoming pod that a plugin can declare.
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
)
