package berth

import "github.com/berth-scheduler/berth/abi"

// ID identifies a string. Equal strings have equal ids, so comparing ids compares strings; ids
// are unordered. Ids are valid only during a call. [Base.Text] returns the string.
type ID uint32

// Absent is not the id of any string: for example, of a label that a node does not have. The
// empty string has an id of its own.
const Absent ID = 0

// A handle names a declared column: a key in a list of the manifest. Methods of Base with the
// same names return them when the plugin is made.
type (
	// Resource is a resource of the list `resources`.
	Resource uint32
	// NodeLabel is a key of the list `nodeLabels`.
	NodeLabel uint32
	// NodeAnnotation is a key of the list `nodeAnnotations`.
	NodeAnnotation uint32
	// NodeCondition is a type of the list `nodeConditions`.
	NodeCondition uint32
	// Feed is a feed of the list `feeds`, as `name:unit`.
	Feed uint32
	// ObjectColumn is a column of the list `objectColumns`.
	ObjectColumn uint32
	// PodLabel is a key of the list `podLabels`.
	PodLabel uint32
	// PodAnnotation is a key of the list `podAnnotations`.
	PodAnnotation uint32
	// NamespaceLabel is a key of the list `namespaceLabels`.
	NamespaceLabel uint32
	// Published is an entry of the list `published`, as `plugin/key`.
	Published uint32
)

// Pair is a label: key and value.
type Pair struct{ Key, Value ID }

// Effect is the effect of a taint.
type Effect uint32

// The taint effects of the core/v1 API. AnyEffect is only for tolerations.
const (
	AnyEffect Effect = iota
	NoSchedule
	PreferNoSchedule
	NoExecute
)

// Taint is a taint of a node.
type Taint struct {
	Key, Value ID
	Effect     Effect
}

// Protocol is the protocol of a host port.
type Protocol uint8

// The protocols of the core/v1 API.
const (
	TCP Protocol = iota + 1
	UDP
	SCTP
)

// Port is a host port. The id of `0.0.0.0` means every address of the node.
type Port struct {
	IP       ID
	Port     uint16
	Protocol Protocol
	_        uint8
}

// Image is a container image on a node, with its size in bytes.
type Image struct {
	Name ID
	_    uint32
	Size int64
}

// Condition is the status of a node's condition.
type Condition uint8

// The statuses. ConditionAbsent means that the node does not report the condition.
const (
	ConditionAbsent Condition = iota
	ConditionTrue
	ConditionFalse
	ConditionUnknown
)

// FeedState says whether a feed has a value for a node, and whether it is fresh.
type FeedState uint8

// The states. FeedNone means that the feed has never had a value of the node, and FeedStale that the last one is too old.
const (
	FeedNone FeedState = iota
	FeedFresh
	FeedStale
)

// TolerationOperator is how a toleration matches.
type TolerationOperator uint32

// The operators of tolerations.
const (
	TolerationEqual TolerationOperator = iota + 1
	TolerationExists
)

// Toleration is a toleration of the pod. Key Absent with TolerationExists means every key;
// Seconds is −1 if there is no limit.
type Toleration struct {
	Key, Value ID
	Operator   TolerationOperator
	Effect     Effect
	Seconds    int64
}

// Tolerates reports whether the toleration matches a taint.
func (t *Toleration) Tolerates(taint *Taint) bool {
	if t.Key != taint.Key && (t.Key != Absent || t.Operator != TolerationExists) {
		return false // the most common difference, so checked first
	}
	return (t.Operator == TolerationExists || t.Value == taint.Value) && (t.Effect == taint.Effect || t.Effect == AnyEffect)
}

// Operator is how a requirement on a label matches.
type Operator uint32

// The operators of core/v1 NodeSelectorRequirement.
const (
	In Operator = iota + 1
	NotIn
	Exists
	DoesNotExist
	Gt
	Lt
)

// Requirement is a requirement on a node's label. [Pod.Values] returns its values; Number is
// the operand of Gt and Lt.
type Requirement struct {
	Key          ID
	Operator     Operator
	first, count uint32
	Number       int64
}

// Term has requirements that must all match. [Pod.Requirements] returns them; Weight is for
// preferred terms.
type Term struct {
	first, count uint32
	Weight       int32
	flags        uint32
}

// Unusable reports whether the term cannot be evaluated and so matches no node.
func (t Term) Unusable() bool { return t.flags&1 != 0 }

// HasFields reports whether the term has requirements on metadata.name, which the host
// evaluates and the record does not have.
func (t Term) HasFields() bool { return t.flags&2 != 0 }

// ContainerKind is the role of a container.
type ContainerKind uint32

// The kinds of containers. A sidecar is an init container that runs beside the others.
const (
	AppContainer ContainerKind = iota + 1
	InitContainer
	Sidecar
)

// Container is a container of a pod, with its image as nodes report it. [Pod.ContainerRequest] and [Pod.ContainerLimit] have its resources.
type Container struct {
	Name  ID
	Kind  ContainerKind
	Image ID
	first uint32
}

// NoScore is the score of a node about which there is nothing to say: a normalization of the host leaves it out, and it becomes 0.
const NoScore = abi.NoScore

// Code is a status code; see package abi for the meanings.
type Code = abi.Code

// span is the place of a row's elements in an arena.
type span struct{ start, length uint32 }

// of returns the elements of a row.
func of[T any](spans []span, arena []T, row uint32) []T {
	s := spans[row]
	if s.length == 0 {
		return nil
	}
	end := uint64(s.start) + uint64(s.length)
	return arena[s.start:end:end]
}
