package equivalence

import (
	"math"
	"slices"
)

// Tree has the totals of rows, and finds the best ones without looking at all: each inner
// node knows the highest total below it and how many rows have it. The lowest inner nodes
// are over a block of rows each, so that the tree takes little more than the totals.
type Tree struct {
	blocks int     // a power of two
	totals []int64 // by row
	nodes  []best
	front  []uint32
}

type best struct {
	total int64
	count uint32 // 0 for none
}

const (
	blockRows = 16
	// noTotal is that of a row without one.
	noTotal = math.MinInt64
)

// Bytes is the memory that the tree takes.
func (t *Tree) Bytes() int64 { return int64(cap(t.nodes))*16 + int64(cap(t.totals))*8 }

// Build sets the totals of some rows of n; the others have none.
func (t *Tree) Build(n int, rows []uint32, totals []int64) {
	t.blocks = 1
	for t.blocks*blockRows < n {
		t.blocks *= 2
	}
	t.totals = slices.Grow(t.totals[:0], n)[:n]
	for row := range t.totals {
		t.totals[row] = noTotal
	}
	for i, row := range rows {
		t.totals[row] = totals[i]
	}
	t.nodes = slices.Grow(t.nodes[:0], 2*t.blocks)[:2*t.blocks]
	for block := range t.blocks {
		t.nodes[t.blocks+block] = t.bestOf(block)
	}
	for i := t.blocks - 1; i > 0; i-- {
		t.nodes[i] = better(t.nodes[2*i], t.nodes[2*i+1])
	}
}

// rowsOf returns the first row of a block and the one after the last.
func (t *Tree) rowsOf(block int) (from, to int) {
	return min(block*blockRows, len(t.totals)), min((block+1)*blockRows, len(t.totals))
}

// bestOf returns the best of a block's rows.
func (t *Tree) bestOf(block int) best {
	from, to := t.rowsOf(block)
	b := best{total: noTotal}
	for _, total := range t.totals[from:to] {
		switch {
		case total > b.total:
			b = best{total, 1}
		case total == b.total && total != noTotal:
			b.count++
		}
	}
	return b
}

// better joins what two parts of the rows have.
func better(a, b best) best {
	switch {
	case a.count == 0 || b.count > 0 && b.total > a.total:
		return b
	case b.count == 0 || a.total > b.total:
		return a
	}
	a.count += b.count
	return a
}

// Set sets the total of a row.
func (t *Tree) Set(row uint32, total int64) {
	if t.totals[row] == total {
		return
	}
	t.totals[row] = total
	block := int(row) / blockRows
	b := t.bestOf(block)
	for i := t.blocks + block; t.nodes[i] != b; {
		t.nodes[i] = b
		if i /= 2; i == 0 {
			return
		}
		b = better(t.nodes[2*i], t.nodes[2*i+1])
	}
}

// Remove makes a row one without a total.
func (t *Tree) Remove(row uint32) { t.Set(row, noTotal) }

// Total returns the total of a row that has one.
func (t *Tree) Total(row uint32) int64 { return t.totals[row] }

// Best returns the highest total and how many rows have it.
func (t *Tree) Best() (total int64, ties int) { return t.nodes[1].total, int(t.nodes[1].count) }

// Tie returns the k-th row, from 0, that has the highest total, in the order of rows.
func (t *Tree) Tie(k int) uint32 {
	i, total := 1, t.nodes[1].total
	for i < t.blocks {
		i *= 2
		if left := t.nodes[i]; left.count == 0 || left.total < total {
			i++
		} else if k >= int(left.count) {
			k -= int(left.count)
			i++
		}
	}
	row, _ := t.rowsOf(i - t.blocks)
	for ; t.totals[row] != total || k > 0; row++ {
		if t.totals[row] == total {
			k--
		}
	}
	return uint32(row)
}

// Top appends up to n rows, by total from the highest on, then by row. The front has inner
// nodes by their index, and rows by theirs after all inner nodes.
func (t *Tree) Top(out []uint32, n int) []uint32 {
	t.front = append(t.front[:0], 1)
	for n > 0 && len(t.front) > 0 {
		at := 0
		for i := range t.front {
			if t.before(t.front[i], t.front[at]) {
				at = i
			}
		}
		i := int(t.front[at])
		last := len(t.front) - 1
		t.front[at], t.front = t.front[last], t.front[:last]
		switch {
		case t.highest(uint32(i)) == noTotal:
			return out
		case i >= 2*t.blocks:
			out = append(out, uint32(i-2*t.blocks))
			n--
		case i >= t.blocks:
			from, to := t.rowsOf(i - t.blocks)
			for row := from; row < to; row++ {
				t.front = append(t.front, uint32(2*t.blocks+row))
			}
		default:
			t.front = append(t.front, uint32(2*i), uint32(2*i+1))
		}
	}
	return out
}

// highest returns the highest total of what the front has.
func (t *Tree) highest(i uint32) int64 {
	switch {
	case int(i) >= 2*t.blocks:
		return t.totals[int(i)-2*t.blocks]
	case t.nodes[i].count == 0:
		return noTotal
	}
	return t.nodes[i].total
}

// before reports whether the rows below a node are to be looked at before those below
// another one.
func (t *Tree) before(a, b uint32) bool {
	x, y := t.highest(a), t.highest(b)
	if x != y {
		return x > y
	}
	return t.leftmost(a) < t.leftmost(b)
}

// leftmost returns the lowest row below a node.
func (t *Tree) leftmost(i uint32) int {
	if int(i) >= 2*t.blocks {
		return int(i) - 2*t.blocks
	}
	for int(i) < t.blocks {
		i *= 2
	}
	return (int(i) - t.blocks) * blockRows
}
