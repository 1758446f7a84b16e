package mirror

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/berth-scheduler/berth/abi/wire"
)

// ErrNoRoom says that something does not fit into the region. The caller makes another region
// with more room.
var ErrNoRoom = errors.New("the region is full")

// arena records where the lists of a column are. A list that outgrows its place moves to the
// end, and its old place stays unused. When the arena is full, another region is made.
type arena struct {
	spans []wire.Span
	top   uint32
}

// reserve makes room for n elements of a row, in its present place if they fit, and returns
// the index of the first.
func (a *arena) reserve(row, n, limit uint32) (uint32, error) {
	for uint32(len(a.spans)) <= row {
		a.spans = append(a.spans, wire.Span{})
	}
	s := &a.spans[row]
	if n > s.Cap {
		capacity := roomFor(int(n))
		if uint64(a.top)+capacity > uint64(limit) {
			return 0, ErrNoRoom
		}
		s.Start, s.Cap = a.top, uint32(capacity)
		a.top += uint32(capacity)
	}
	s.Len = n
	return s.Start, nil
}

// roomFor returns the size of a place for n elements: a power of two, so that lists that grow
// seldom move.
func roomFor(n int) uint64 {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len(uint(n-1))
}

// region is the host's view of one instance's region. It writes elements where the layout
// says, and counts bytes.
type region struct {
	layout *wire.Layout
	cols   *columns
	base   uint32 // its address
	memory []byte // all of the instance's; fetched again before each use
	mem    []byte // the region in it
	bytes  uint64 // written and not yet added to the sum of the Source
}

// view fetches the memory's bytes again: they may have moved. It fails if the memory is
// smaller than the region needs.
func (r *region) view(memory []byte) error {
	end := uint64(r.base) + uint64(r.layout.Size)
	if end > uint64(len(memory)) {
		return fmt.Errorf("the memory has %d bytes, and the region ends at %d", len(memory), end)
	}
	r.memory, r.mem = memory, memory[r.base:end:end]
	return nil
}

func (r *region) u8(c *wire.ColumnLayout, row uint32, v uint8) {
	r.mem[c.Data+row] = v
	r.bytes++
}

func (r *region) u32(c *wire.ColumnLayout, row, v uint32) {
	binary.LittleEndian.PutUint32(r.mem[c.Data+4*row:], v)
	r.bytes += 4
}

func (r *region) u64(c *wire.ColumnLayout, row uint32, v uint64) {
	binary.LittleEndian.PutUint64(r.mem[c.Data+8*row:], v)
	r.bytes += 8
}

// setSpan writes where a list is.
func (r *region) setSpan(c *wire.ColumnLayout, row, start, n uint32) {
	at := c.Data + 8*row
	put(r.mem[at:at+8], start, n)
	r.bytes += 8
}

// span finds a place for a list of n elements of a row, and returns its bytes.
func (r *region) span(l list, a *arena, row, n uint32) ([]byte, error) {
	start, err := a.reserve(row, n, l.arena.Elements)
	if err != nil {
		return nil, err
	}
	r.setSpan(l.spans, row, start, n)
	size := uint32(l.arena.Type.Size())
	r.bytes += uint64(n) * uint64(size)
	r.layout.SetLength(r.mem, l.arena, a.top)
	at := l.arena.Data + start*size
	return r.mem[at : at+n*size : at+n*size], nil
}
