package wire

// Pair is a label or an annotation: key and value as string ids.
type Pair struct{ Key, Value uint32 }

// Effect is the effect of a taint.
type Effect uint8

// The taint effects of the core/v1 API.
const (
	NoSchedule Effect = iota + 1
	PreferNoSchedule
	NoExecute
)

// Taint is one taint: key and value as string ids.
type Taint struct {
	Key, Value uint32
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

// Port is a host port in use. IP is a string id; the id of "0.0.0.0" means every address of the
// node.
type Port struct {
	IP       uint32
	Port     uint16
	Protocol Protocol
}

// Image is a container image on a node: its name as a string id and its size in
// bytes.
type Image struct {
	Name uint32
	Size int64
}
