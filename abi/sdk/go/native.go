package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Host is the host functions of one instance.
type Host interface {
	Log(level int, text string)
	StateGet(key string) ([]byte, bool)
	StateSet(key string, value []byte) bool
}

// Native runs a plugin as native code behind the ABI of a module: over a slice as
// its linear memory, with the same call records and columns. Tests use it, and a
// scheduler that has the plugin compiled in. It serves one call at a time, and
// belongs on a little-endian machine.
type Native struct {
	plugin Plugin
	core   *core
	host   Host
	memory []byte
	used   uint32
}

// nativeSlack is room for a plugin's own answers, so that the memory does not
// move when the first reason is written.
const nativeSlack = 64 << 10

// NewNative returns an instance of a plugin. The plugin value must be a new one.
func NewNative(plugin Plugin, host Host) *Native {
	n := &Native{plugin: plugin, core: plugin.core(), host: host, used: abi.RegionAlign}
	n.core.native = n
	n.grow(nativeSlack)
	return n
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

// Configure is berth_configure; 0 if the plugin has no Configure.
func (n *Native) Configure(address, length uint32) int32 {
	if p, ok := n.plugin.(Configurer); ok {
		return ServeConfigure(p, address, length)
	}
	return 0
}

// Call calls a point by the name of its export. It panics if the plugin does not
// have it, as a host checks Exports first.
func (n *Native) Call(export string, call, lo, hi uint32) int32 {
	switch export {
	case abi.ExportPreFilter:
		return ServePreFilter(n.plugin.(PreFilterer), call)
	case abi.ExportFilter:
		return ServeFilter(n.plugin.(Filterer), call, lo, hi)
	case abi.ExportPreScore:
		return ServePreScore(n.plugin.(PreScorer), call, lo, hi)
	case abi.ExportScore:
		return ServeScore(n.plugin.(Scorer), call, lo, hi)
	case abi.ExportNormalize:
		return ServeNormalize(n.plugin.(Normalizer), call, lo, hi)
	}
	panic("berth: no function " + export)
}

// Exports returns the names of the functions that a module of this plugin has.
func (n *Native) Exports() []string { return Implements(n.plugin) }
