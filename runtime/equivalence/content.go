package equivalence

import "math"

// contents numbers what rows have in the columns of a projection, so that rows with the
// same share their answers, also those that had it before. A number that no row has any
// more stays for rows that will, until there are many such; then it is given to others.
type contents struct {
	of     []uint32 // by row; absentContent before it was looked at
	number map[uint64]uint32
	hash   []uint64 // by number
	rows   []uint32 // how many have it
	births []uint32 // when the number was given, as a stamp
	born   journal  // of numbers
	// unused are numbers that no row has or had for a while, from first on, and queued tells
	// which are among them. The first one is unused for longest.
	unused []uint32
	first  int
	queued []bool
}

const absentContent = math.MaxUint32

func newContents() *contents { return &contents{number: make(map[uint64]uint32)} }

// reset makes all numbers void.
func (c *contents) reset() {
	clear(c.number)
	c.of, c.hash, c.rows, c.births = c.of[:0], c.hash[:0], c.rows[:0], c.births[:0]
	c.unused, c.queued, c.first = c.unused[:0], c.queued[:0], 0
	c.born.lose()
}

// cut drops the rows from n on.
func (c *contents) cut(n int) {
	for _, number := range c.of[n:] {
		c.leave(number)
	}
	c.of = c.of[:n]
}

// leave takes a row away from a number.
func (c *contents) leave(number uint32) {
	if number == absentContent {
		return
	}
	if c.rows[number]--; c.rows[number] == 0 && !c.queued[number] {
		c.unused, c.queued[number] = append(c.unused, number), true
	}
}

// set gives a row the number of a hash. stamp is the birth of a new number.
func (c *contents) set(row uint32, hash uint64, stamp uint32) {
	for uint32(len(c.of)) <= row {
		c.of = append(c.of, absentContent)
	}
	c.leave(c.of[row])
	number, ok := c.number[hash]
	if !ok {
		number = c.spare()
		c.number[hash], c.hash[number], c.births[number] = number, hash, stamp
		c.born.add([]uint32{number}, len(c.of))
	}
	c.rows[number]++
	c.of[row] = number
}

// spare returns a number for something new.
func (c *contents) spare() uint32 {
	for len(c.unused)-c.first > len(c.of)/2+64 {
		number := c.unused[c.first]
		c.queued[number] = false
		if c.first++; c.first > len(c.unused)/2 {
			c.unused, c.first = c.unused[:copy(c.unused, c.unused[c.first:])], 0
		}
		if c.rows[number] == 0 {
			delete(c.number, c.hash[number])
			return number
		}
	}
	c.hash, c.rows, c.births, c.queued = append(c.hash, 0), append(c.rows, 0), append(c.births, 0), append(c.queued, false)
	return uint32(len(c.hash) - 1)
}
