package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// memory is the linear memory. In a module address 0 is pointer 0; natively it is the start of
// a slice.
type memory struct {
	base  unsafe.Pointer
	limit uint64 // bytes
}

// wholeMemory is the limit in a module, which has bounds checks of its own.
const wholeMemory = 1 << 32

// at returns a pointer to a T at an address.
func at[T any](m *memory, address uint32) *T {
	var zero T
	m.check(address, uint64(unsafe.Sizeof(zero)))
	return (*T)(unsafe.Add(m.base, uintptr(address)))
}

// view returns n elements of T at an address as a slice.
func view[T any](m *memory, address, n uint32) []T {
	if n == 0 {
		return nil
	}
	var zero T
	m.check(address, uint64(n)*uint64(unsafe.Sizeof(zero)))
	return unsafe.Slice((*T)(unsafe.Add(m.base, uintptr(address))), int(n))
}

func (m *memory) check(address uint32, size uint64) {
	if uint64(address)+size > m.limit {
		panic("berth: the host passed an address out of bounds")
	}
}

// buffer is room in the linear memory for answers. It is reused by later calls.
type buffer struct {
	address, size uint32
	kept          []byte
}

// grow makes the buffer at least size bytes.
func (b *buffer) grow(c *core, size uint32) {
	if size > b.size {
		b.size = max(size, 2*b.size, 1024)
		b.address, b.kept = c.alloc(b.size)
	}
}

// Structures of SPEC.md, sections 3, 4, 6 and 13. layout_test.go compares them with package
// abi.
type (
	callRecord struct {
		header, pod, podSize, point   uint32
		rows, nRows                   uint32
		codes, reasons, scores, flags uint32
		pods, event, queue, keys      uint32
		_                             [2]uint32
		reasonSets, nReasonSets       uint32
		rowSet, nRowSet, hasRowSet    uint32
		statusReason                  uint32
		directives, nDirectives       uint32
		wait, retryAfter              uint64
		_                             [4]uint32
	}
	podEntry    struct{ address, size uint32 }
	eventRecord struct {
		resource             abi.EventKind
		actions              abi.EventAction
		oldPod, newPod       podEntry
		oldNode, newNode     uint32
		namespace, eventName text
		_                    [4]uint32
	}
	header struct {
		magic                          uint32
		major, minor                   uint16
		epoch, generation, seed        uint64
		state, nTables, tables, layout uint32
		_                              [4]uint32
	}
	tableEntry struct {
		id                             abi.TableID
		rows, capacity, base, overlays uint32
		nColumns, columns, _           uint32
	}
	columnEntry struct {
		id                        abi.ColumnID
		arg                       uint32
		typ                       abi.Type
		address, capacity, length uint32
	}
	podHeader struct{ nFields, size uint32 }
	podField  struct {
		id                 abi.ColumnID
		arg, offset, count uint32
	}
	reasonSet struct{ texts, n uint32 }
	text      struct{ address, length uint32 }
	directive struct {
		kind          abi.DirectiveKind
		_             uint32
		first, second text
	}
)
