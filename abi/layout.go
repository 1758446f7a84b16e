package abi

import "time"

// Version of the ABI that this package describes (SPEC.md, 2.2).
const (
	Major = 1
	Minor = 2
	// Version is what berth_abi of the SDK in Go returns: what it calls came with ABI 1.0, and the manifest says what its data needs.
	Version uint32 = Major << 16
)

// Names of exports and of the manifest's custom section.
const (
	ExportMemory     = "memory"
	ExportABI        = "berth_abi"
	ExportAlloc      = "berth_alloc"
	ExportConfigure  = "berth_configure"
	ExportPreEnqueue = "berth_pre_enqueue"
	ExportQueueKey   = "berth_queue_key"
	ExportHint       = "berth_hint"
	ExportPreFilter  = "berth_pre_filter"
	ExportAddPod     = "berth_add_pod"
	ExportRemovePod  = "berth_remove_pod"
	ExportFilter     = "berth_filter"
	ExportPostFilter = "berth_post_filter"
	ExportPreScore   = "berth_pre_score"
	ExportScore      = "berth_score"
	ExportNormalize  = "berth_normalize"
	ExportReserve    = "berth_reserve"
	ExportUnreserve  = "berth_unreserve"
	ExportPermit     = "berth_permit"
	ExportPreBind    = "berth_pre_bind"
	ExportBind       = "berth_bind"
	ExportPostBind   = "berth_post_bind"
	// ExportPrefix begins the names of all functions of the ABI.
	ExportPrefix = "berth_"

	// HostModule is the module that host functions are imported from.
	HostModule = "berth"
	// WASIModule is served by inert stubs.
	WASIModule = "wasi_snapshot_preview1"
	// ManifestSection is the custom section that holds the manifest.
	ManifestSection = "berth.manifest"
)

// Host functions.
const (
	HostLog          = "log"
	HostStateGet     = "state_get"
	HostStateSet     = "state_set"
	HostPublishedGet = "published_get"
	HostPodObject    = "pod_object"
	HostNodeObject   = "node_object"
)

// States of what a feed says of a node (SPEC.md, column 191).
const (
	FeedNone  uint8 = 0
	FeedFresh uint8 = 1
	FeedStale uint8 = 2
)

// RegionAlign is the alignment of the region in bytes.
const RegionAlign = 64

// Magic begins the snapshot header: the bytes "BRTH".
const Magic uint32 = 0x48545242

// The snapshot header (SPEC.md, 4.1): offsets and size in bytes.
const (
	HeaderSize       = 64
	HeaderMagic      = 0
	HeaderMajor      = 4
	HeaderMinor      = 6
	HeaderEpoch      = 8
	HeaderGeneration = 16
	HeaderSeed       = 24
	HeaderState      = 32
	HeaderTables     = 36
	HeaderDirectory  = 40
	HeaderLayout     = 44
)

// A table entry (SPEC.md, 4.2).
const (
	TableSize        = 32
	TableEntryID     = 0
	TableRows        = 4
	TableCapacity    = 8
	TableBase        = 12
	TableOverlays    = 16
	TableColumns     = 20
	TableColumnsAddr = 24
)

// A column entry (SPEC.md, 4.3).
const (
	ColumnSize     = 24
	ColumnEntryID  = 0
	ColumnArg      = 4
	ColumnType     = 8
	ColumnAddress  = 12
	ColumnCapacity = 16
	ColumnLength   = 20
)

// The call record (SPEC.md, 3.1).
const (
	CallSize         = 128
	CallHeader       = 0
	CallPod          = 4
	CallPodSize      = 8
	CallPoint        = 12
	CallRows         = 16
	CallRowCount     = 20
	CallCodes        = 24
	CallReasons      = 28
	CallScores       = 32
	CallFlags        = 36
	CallPods         = 40
	CallEvent        = 44
	CallQueue        = 48
	CallKeys         = 52
	CallReasonSets   = 64
	CallReasonCount  = 68
	CallRowSet       = 72
	CallRowSetCount  = 76
	CallHasRowSet    = 80
	CallStatusReason = 84
	CallDirectives   = 88
	CallDirectiveN   = 92
	CallWait         = 96
	CallRetryAfter   = 104
	// CallGuestStart and CallAnswersEnd bound what the guest may write. In ABI 1.0 it was CallGuestEnd.
	CallGuestStart = 64
	CallGuestEnd   = 104
	CallAnswersEnd = 112
)

// CallOverlayRows is the flag of a call whose rows are overlay rows.
const CallOverlayRows uint32 = 1

// Entries of the lists that points about many pods have (SPEC.md, 3.1 and 3.11),
// and a directive (SPEC.md, 13.1): sizes in bytes.
const (
	PodEntrySize   = 8
	QueueEntrySize = 16
	KeySize        = 68
	DirectiveSize  = 24
)

// The event record (SPEC.md, 3.10).
const (
	EventSize          = 64
	EventResource      = 0
	EventActions       = 4
	EventOldPod        = 8
	EventOldPodSize    = 12
	EventNewPod        = 16
	EventNewPodSize    = 20
	EventOldNode       = 24
	EventNewNode       = 28
	EventNamespace     = 32
	EventNamespaceSize = 36
	EventName          = 40
	EventNameSize      = 44
	// EventNoNode is the row of a node that an event does not have.
	EventNoNode uint32 = 0xffffffff
)

// The pod record (SPEC.md, 6.1).
const (
	PodHeaderSize  = 8
	PodFieldCount  = 0
	PodSize        = 4
	PodFieldSize   = 16
	PodFieldID     = 0
	PodFieldArg    = 4
	PodFieldOffset = 8
	PodFieldLength = 12
)

// Type is the type of a column's elements (SPEC.md, section 4).
type Type uint32

// The types.
const (
	TypeU8 Type = iota + 1
	TypeU16
	TypeU32
	TypeU64
	TypeI32
	TypeI64
	TypeSpan
	TypePair
	TypeTaint
	TypePort
	TypeImage
	TypeBytes
)

// Size returns the size of an element in bytes; 0 for a type that is not known.
func (t Type) Size() int {
	sizes := [...]int{
		TypeU8: 1, TypeU16: 2, TypeU32: 4, TypeU64: 8, TypeI32: 4, TypeI64: 8, TypeSpan: 8, TypePair: 8,
		TypeTaint: 12, TypePort: 8, TypeImage: 16, TypeBytes: 1,
	}
	if int(t) >= len(sizes) {
		return 0
	}
	return sizes[t]
}

// Sizes of the elements of pod fields that no column has, in bytes.
const (
	TolerationSize  = 24
	RequirementSize = 24
	TermSize        = 16
	ContainerSize   = 16
)

// Limits (SPEC.md, section 10). Sizes are in bytes.
const (
	MaxReasonSets    = 1024
	MaxReasonTexts   = 16
	MaxTextSize      = 1024
	MaxTextsSize     = 65536
	MaxStateKeys     = 64
	MaxStateKeySize  = 128
	MaxStateValue    = 65536
	MaxStateSize     = 262144
	MaxLogText       = 4096
	MaxManifestSize  = 65536
	MaxConfigSize    = 1048576
	MaxTables        = 16
	MaxTableElements = 1 << 20
	MaxReads         = 256
	MaxBatch         = 1024
	MaxQueueKey      = 64
	MaxDirectives    = 256
	MinRetryAfter    = 1_000     // milliseconds
	MaxRetryAfter    = 3_600_000 // milliseconds
	MaxDirectiveText = 65536
	StatusReasonNone = 0

	// Of the schema of the configuration (ABI-9.8). A program is what a pattern
	// compiles to, in instructions as RE2 counts them.
	MaxSchemas         = 2000
	MaxSchemaDepth     = 16
	MaxSchemaBranches  = 64
	MaxPatternSize     = 1024
	MaxPatternsSize    = 16384
	MaxPatternProgram  = 2048
	MaxPatternsProgram = 20000
)

// RetryAfter returns how soon a pod is tried again of what a guest asks for in milliseconds (SPEC.md, 5.22): at least a second and at most
// an hour; 0 asks for nothing.
func RetryAfter(ms uint64) time.Duration {
	if ms == 0 {
		return 0
	}
	return time.Duration(min(max(ms, MinRetryAfter), MaxRetryAfter)) * time.Millisecond
}
