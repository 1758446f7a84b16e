package nodeselector

import (
	"slices"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Block is the number of rows that are matched together: large enough to amortise the lookup of
// a column, small enough that masks stay in the L1 cache.
const Block = 1024

// Mask has a 1 for each matching row of a block, by position.
type Mask [Block]uint8

// Everything reports whether the selector matches every row.
func (s *Selector) Everything() bool { return !s.never && !s.hasTerms && len(s.all) == 0 }

// Match fills the mask for at most Block rows and reports whether all match.
func (s *Selector) Match(snapshot *state.Snapshot, rows []uint32, mask *Mask) bool {
	m := mask[:len(rows)]
	if s.never || s.hasTerms && len(s.anyOf) == 0 {
		clear(m)
		return len(rows) == 0
	}
	if !s.hasTerms || len(s.anyOf) == 1 {
		fill(m)
		conjunction(s.all, snapshot, rows, m)
		if s.hasTerms {
			conjunction(s.anyOf[0].requirements, snapshot, rows, m)
		}
		return all(m)
	}
	var one Mask
	clear(m)
	for i := range s.anyOf {
		t := one[:len(rows)]
		fill(t)
		conjunction(s.anyOf[i].requirements, snapshot, rows, t)
		for j := range m {
			m[j] |= t[j]
		}
	}
	conjunction(s.all, snapshot, rows, m)
	return all(m)
}

// Score adds to out[i] the weights of the terms that match rows[i].
func (p Preferences) Score(snapshot *state.Snapshot, rows []uint32, out []int64) {
	var mask Mask
	for len(rows) > 0 {
		n := min(len(rows), Block)
		m := mask[:n]
		for i := range p {
			fill(m)
			conjunction(p[i].requirements, snapshot, rows[:n], m)
			for j, matched := range m {
				out[j] += int64(matched) * p[i].weight
			}
		}
		rows, out = rows[n:], out[n:]
	}
}

func fill(m []uint8) {
	for i := range m {
		m[i] = 1
	}
}

func all(m []uint8) bool {
	every := uint8(1)
	for _, v := range m {
		every &= v
	}
	return every == 1
}

// conjunction clears the mask where a requirement does not hold.
func conjunction(list []requirement, snapshot *state.Snapshot, rows []uint32, m []uint8) {
	for i := range list {
		r := &list[i]
		if r.op >= named {
			r.names(snapshot, rows, m)
			continue
		}
		column := snapshot.Nodes.Labels.Key(r.key)
		if column.Values == nil {
			r.sparse(snapshot, column, rows, m)
			continue
		}
		first, last := rows[0], rows[len(rows)-1]
		if int(last-first) == len(rows)-1 {
			r.run(snapshot, column.Values[first:last+1], m)
		} else {
			r.gather(snapshot, column.Values, rows, m)
		}
	}
}

// run matches consecutive rows of a dense column.
func (r *requirement) run(snapshot *state.Snapshot, values []uint32, m []uint8) {
	m = m[:len(values)]
	switch r.op {
	case hasOne:
		want := r.values[0]
		for i, v := range values {
			m[i] &= bit(v == want)
		}
	case hasFew:
		if len(r.values) == 2 {
			a, b := r.values[0], r.values[1]
			for i, v := range values {
				m[i] &= bit(v == a) | bit(v == b)
			}
			return
		}
		for i, v := range values {
			m[i] &= bit(slices.Contains(r.values, v))
		}
	case exists:
		for i, v := range values {
			m[i] &= bit(v != 0)
		}
	default:
		for i, v := range values {
			m[i] &= bit(r.holds(snapshot, v))
		}
	}
}

// gather matches scattered rows of a dense column.
func (r *requirement) gather(snapshot *state.Snapshot, values []uint32, rows []uint32, m []uint8) {
	m = m[:len(rows)]
	switch {
	case r.op == hasOne:
		want := r.values[0]
		for i, row := range rows {
			m[i] &= bit(values[row] == want)
		}
	case r.op == hasFew && len(r.values) == 2:
		a, b := r.values[0], r.values[1]
		for i, row := range rows {
			v := values[row]
			m[i] &= bit(v == a) | bit(v == b)
		}
	default:
		for i, row := range rows {
			m[i] &= bit(r.holds(snapshot, values[row]))
		}
	}
}

// sparse matches a key without a dense column.
func (r *requirement) sparse(snapshot *state.Snapshot, column state.LabelColumn, rows []uint32, m []uint8) {
	for i, row := range rows {
		if m[i] != 0 {
			m[i] = bit(r.holds(snapshot, column.At(row)))
		}
	}
}

// names matches metadata.name.
func (r *requirement) names(snapshot *state.Snapshot, rows []uint32, m []uint8) {
	for i, row := range rows {
		m[i] &= bit((snapshot.Name(row) == r.name) == (r.op == named))
	}
}

// holds evaluates the requirement for one value id; 0 is a row without the label.
func (r *requirement) holds(snapshot *state.Snapshot, v uint32) bool {
	switch r.op {
	case hasOne:
		return v == r.values[0]
	case hasFew:
		return slices.Contains(r.values, v)
	case hasSet:
		return r.inSet(v)
	case hasNone:
		if r.set != nil {
			return !r.inSet(v)
		}
		return !slices.Contains(r.values, v)
	case exists:
		return v != 0
	case absent:
		return v == 0
	}
	if v == 0 {
		return false
	}
	n, ok := parseInt(snapshot.Strings.String(v))
	return ok && (r.op == greater && n > r.number || r.op == less && n < r.number)
}

func (r *requirement) inSet(v uint32) bool {
	word := int(v / 64)
	return word < len(r.set) && r.set[word]&(1<<(v%64)) != 0
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// parseInt is strconv.ParseInt in base 10, without its allocation on failure.
func parseInt(s string) (int64, bool) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if s == "" {
		return 0, false
	}
	limit := uint64(1)<<63 - 1
	if negative {
		limit++
	}
	var n uint64
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 || n > (limit-uint64(d))/10 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}
