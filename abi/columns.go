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
// declares the ids that it reads. An id never changes its meaning. Package fields
// has the table of them.
type ColumnID uint32

// ArenaOf is the distance from a column of spans to the column that holds their
// elements.
const ArenaOf ColumnID = 256

// Bits of the NodeFlags column.
const (
	// NodeUnschedulable is spec.unschedulable.
	NodeUnschedulable uint8 = 1 << iota
)

// Bits of the PodFlags column.
const (
	// PodTerminating is a pod that is being deleted.
	PodTerminating uint8 = 1 << iota
)

// Bits of the PlacedPodState column.
const (
	// PodRunning is a pod whose status.phase is Running.
	PodRunning uint8 = 1 << iota
	// PodReady is a pod whose condition Ready is True.
	PodReady
)
