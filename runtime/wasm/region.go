package wasm

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/berth-scheduler/berth/abi/wire"
)

// errNoRoom says that something does not fit into the region, which must be made
// anew with more room.
var errNoRoom = errors.New("the region is full")

// arena keeps where the rows of a list column lie.
type arena struct {
	spans []wire.Span
	top   uint32
}

// place gives a row room for n elements, where it is if it fits, and returns the
// first one.
func (a *arena) place(row, n, limit uint32) (uint32, error) {
	for uint32(len(a.spans)) <= row {
		a.spans = append(a.spans, wire.Span{})
	}
	s := &a.spans[row]
	if n > s.Cap {
		capacity := roomFor(n)
		if a.top+capacity > limit || a.top+capacity < a.top {
			return 0, errNoRoom
		}
		s.Start, s.Cap = a.top, capacity
		a.top += capacity
	}
	s.Len = n
	return s.Start, nil
}

// roomFor is what a list of n elements takes in an arena: a power of two, so
// that lists that grow seldom move.
func roomFor(n uint32) uint32 {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len32(n-1)
}

// region is the host's side of one instance's region: it writes elements where
// the layout says, and counts bytes.
type region struct {
	layout *wire.Layout
	cols   *columns
	mem    []byte // of the region; set anew before each use
	bytes  uint64 // written so far
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

// span places a list of n elements of a row and returns the bytes to write them
// to.
func (r *region) span(l list, a *arena, row, n uint32) ([]byte, error) {
	start, err := a.place(row, n, l.arena.Elements)
	if err != nil {
		return nil, err
	}
	r.u32(&wire.ColumnLayout{Data: l.spans.Data}, 2*row, start)
	r.u32(&wire.ColumnLayout{Data: l.spans.Data}, 2*row+1, n)
	size := uint32(l.arena.Type.Size())
	r.bytes += uint64(n * size)
	r.layout.SetLength(r.mem, l.arena, a.top)
	at := l.arena.Data + start*size
	return r.mem[at : at+n*size], nil
}
