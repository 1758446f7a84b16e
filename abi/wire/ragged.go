package wire

import "math/bits"

// Span is the place of one row's entries in a ragged column: Data[Start:Start+Len], with room
// for Cap entries.
type Span struct{ Start, Len, Cap uint32 }

// Ragged is a column whose rows are lists (compressed sparse rows with room to grow). A row is
// rewritten in place if it fits; otherwise it moves to the end of Data, and Data is compacted
// when more than half of it is dead.
//
// The zero value is an empty column.
type Ragged[T any] struct {
	// Spans has one element per row.
	Spans []Span
	// Data has the entries of all rows, and dead ones.
	Data []T

	dead int // number of entries in Data outside all spans
}

// Resize sets the number of rows. Removed rows lose their entries, new rows are empty.
func (c *Ragged[T]) Resize(rows int) {
	for len(c.Spans) > rows {
		last := len(c.Spans) - 1
		c.dead += int(c.Spans[last].Cap)
		c.Spans = c.Spans[:last]
	}
	for len(c.Spans) < rows {
		c.Spans = append(c.Spans, Span{})
	}
}

// Row returns the entries of a row. The slice belongs to the column and is valid until the next
// Set.
func (c *Ragged[T]) Row(row uint32) []T {
	s := c.Spans[row]
	return c.Data[s.Start : s.Start+s.Len : s.Start+s.Len]
}

// Set replaces the entries of a row and returns the number of written entries. entries may be
// another row of the column.
func (c *Ragged[T]) Set(row uint32, entries []T) int {
	copy(c.room(row, len(entries)), entries)
	c.Spans[row].Len = uint32(len(entries))
	return len(entries)
}

// SetTail replaces the entries of a row from an index on, which is at most their number, and returns the number of
// written entries. entries must not be part of the column.
func (c *Ragged[T]) SetTail(row uint32, from int, entries []T) int {
	n := from + len(entries)
	if n > int(c.Spans[row].Cap) {
		kept := c.Row(row)[:from] // stays readable if room moves the data
		copy(c.room(row, n), kept)
	}
	s := &c.Spans[row]
	copy(c.Data[int(s.Start)+from:int(s.Start)+n], entries)
	s.Len = uint32(n)
	return len(entries)
}

// Append adds an entry to the end of a row.
func (c *Ragged[T]) Append(row uint32, entry T) {
	n := c.Spans[row].Len
	if n == c.Spans[row].Cap {
		old := c.Row(row) // stays readable if room moves the data
		copy(c.room(row, int(n)+1), old)
	}
	s := &c.Spans[row]
	c.Data[s.Start+n] = entry
	s.Len = n + 1
}

// room gives the row a span of n entries and returns them. The row's entries are lost from the
// span if it moves.
func (c *Ragged[T]) room(row uint32, n int) []T {
	s := &c.Spans[row]
	if n > int(s.Cap) {
		if c.dead > len(c.Data)/2 && c.dead > 1024 {
			c.compact()
		}
		c.dead += int(s.Cap)
		capacity := 1 << bits.Len(uint(n-1))
		s.Start, s.Cap = uint32(len(c.Data)), uint32(capacity)
		c.Data = append(c.Data, make([]T, capacity)...)
	}
	return c.Data[s.Start : s.Start+uint32(n)]
}

// compact moves all rows to the front of a new array.
func (c *Ragged[T]) compact() {
	live := len(c.Data) - c.dead
	data := make([]T, 0, live+live/2)
	for i := range c.Spans {
		s := &c.Spans[i]
		start := uint32(len(data))
		data = append(data, c.Data[s.Start:s.Start+s.Cap]...)
		s.Start = start
	}
	c.Data, c.dead = data, 0
}
