package reuse

import "slices"

// Tree has the totals of rows, and finds the best ones without looking at all: each inner
// node knows the highest total below it and how many rows have it.
type Tree struct {
	leaves int // a power of two
	nodes  []best
	front  []uint32
}

type best struct {
	total int64
	count uint32 // 0 for none
}

// Bytes is the memory that the tree takes.
func (t *Tree) Bytes() int64 { return int64(cap(t.nodes)) * 16 }

// Build sets the totals of some rows of n; the others have none.
func (t *Tree) Build(n int, rows []uint32, totals []int64) {
	t.leaves = 1
	for t.leaves < n {
		t.leaves *= 2
	}
	t.nodes = slices.Grow(t.nodes[:0], 2*t.leaves)[:2*t.leaves]
	for i := range t.nodes {
		t.nodes[i] = best{}
	}
	for i, row := range rows {
		t.nodes[t.leaves+int(row)] = best{totals[i], 1}
	}
	for i := t.leaves - 1; i > 0; i-- {
		t.nodes[i] = better(t.nodes[2*i], t.nodes[2*i+1])
	}
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
func (t *Tree) Set(row uint32, total int64) { t.put(row, best{total, 1}) }

// Remove makes a row one without a total.
func (t *Tree) Remove(row uint32) { t.put(row, best{}) }

func (t *Tree) put(row uint32, b best) {
	i := t.leaves + int(row)
	for t.nodes[i] != b {
		t.nodes[i] = b
		if i /= 2; i == 0 {
			return
		}
		b = better(t.nodes[2*i], t.nodes[2*i+1])
	}
}

// Total returns the total of a row that has one.
func (t *Tree) Total(row uint32) int64 { return t.nodes[t.leaves+int(row)].total }

// Best returns the highest total and how many rows have it.
func (t *Tree) Best() (total int64, ties int) { return t.nodes[1].total, int(t.nodes[1].count) }

// Tie returns the k-th row, from 0, that has the highest total, in the order of rows.
func (t *Tree) Tie(k int) uint32 {
	i, total := 1, t.nodes[1].total
	for i < t.leaves {
		i *= 2
		if left := t.nodes[i]; left.count == 0 || left.total < total {
			i++
		} else if k >= int(left.count) {
			k -= int(left.count)
			i++
		}
	}
	return uint32(i - t.leaves)
}

// Top appends up to n rows, by total from the highest on, then by row.
func (t *Tree) Top(out []uint32, n int) []uint32 {
	t.front = append(t.front[:0], 1)
	for n > 0 && len(t.front) > 0 {
		at := 0
		for i := range t.front {
			if t.before(t.front[i], t.front[at]) {
				at = i
			}
		}
		i := t.front[at]
		last := len(t.front) - 1
		t.front[at], t.front = t.front[last], t.front[:last]
		switch {
		case t.nodes[i].count == 0:
			return out
		case int(i) >= t.leaves:
			out = append(out, i-uint32(t.leaves))
			n--
		default:
			t.front = append(t.front, 2*i, 2*i+1)
		}
	}
	return out
}

// before reports whether the rows below a node are to be looked at before those below
// another one.
func (t *Tree) before(a, b uint32) bool {
	x, y := t.nodes[a], t.nodes[b]
	if x.count == 0 || y.count == 0 {
		return y.count == 0 && x.count > 0
	}
	if x.total != y.total {
		return x.total > y.total
	}
	return t.leftmost(a) < t.leftmost(b)
}

func (t *Tree) leftmost(i uint32) uint32 {
	for int(i) < t.leaves {
		i *= 2
	}
	return i
}
