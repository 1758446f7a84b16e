package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Host has the host functions that every host of native plugins implements. A host that also
// supports plugins that read published keys and whole objects is an ObjectHost.
type Host interface {
	Log(level int, text string)
	StateGet(key string) ([]byte, bool)
	// StateSet copies the value, which belongs to the plugin.
	StateSet(key string, value []byte) bool
}

// ObjectHost has the host functions whose calls are expensive for the host. A plugin that uses
// one panics with the name of this interface if the host does not implement it.
type ObjectHost interface {
	// PublishedGet is published_get: index is the index in the manifest's list reads.published.
	PublishedGet(index uint32) ([]byte, bool)
	// PodObject is pod_object: index is a position in the call's pod list, 0 for its pod if it
	// has no list.
	PodObject(index uint32) ([]byte, bool)
	// NodeObject is node_object.
	NodeObject(row uint32) ([]byte, bool)
}

// Native runs a plugin as native code behind the ABI of a module: with a slice as its linear
// memory, and the same call records and columns. Tests use it, and so does a scheduler with the
// plugin compiled in. It serves one call at a time, and needs a little-endian machine.
type Native struct {
	plugin Plugin
	core   *core
	host   Host
	memory []byte
	used   uint32
}

// nativeSlack is room for a plugin's own answers, so that the memory does not move when the
// first reason is written.
const nativeSlack = 64 << 10

// NewNative returns an instance of a plugin. The plugin value must be new.
func NewNative(plugin Plugin, host Host) *Native {
	n := &Native{plugin: plugin, core: plugin.core(), host: host, used: abi.RegionAlign}
	n.core.native = n
	n.grow(nativeSlack)
	return n
}

// objects returns the host as an ObjectHost.
func (n *Native) objects() ObjectHost {
	h, ok := n.host.(ObjectHost)
	if !ok {
		panic("berth: the host does not implement berth.ObjectHost, which PublishedGet, PodObject and NodeObject need")
	}
	return h
}

// grow makes the memory at least size bytes.
func (n *Native) grow(size uint32) {
	room := make([]byte, uint64(size)+abi.RegionAlign)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(room))) & (abi.RegionAlign - 1)
	room = room[skip:][:size:size]
	copy(room, n.memory)
	n.memory = room
	n.core.mem = memory{base: unsafe.Pointer(unsafe.SliceData(room)), limit: uint64(size)}
}

// Memory returns the linear memory. It moves when it grows.
func (n *Native) Memory() []byte { return n.memory }

// Alloc is berth_alloc.
func (n *Native) Alloc(size, align uint32) uint32 {
	align = max(align, 1)
	from := (uint64(n.used) + uint64(align) - 1) / uint64(align) * uint64(align)
	end := from + uint64(size)
	if end > wholeMemory-nativeSlack-1 {
		return 0
	}
	if end > uint64(len(n.memory)) {
		n.grow(uint32(end) + nativeSlack)
	}
	n.used = uint32(end)
	return uint32(from)
}

// Configure is berth_configure; it returns 0 if the plugin has no Configure.
func (n *Native) Configure(address, length uint32) int32 {
	if p, ok := n.plugin.(Configurer); ok {
		return ServeConfigure(p, address, length)
	}
	return 0
}
