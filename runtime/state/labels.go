package state

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/berth-scheduler/berth/abi/wire"
)

// Limits of dense label columns: a key gets one if at least one row in denseShare has it, and
// there are at most maxDense of them.
const (
	denseShare = 8
	maxDense   = 64
)

// LabelColumns has the labels of rows: a list of (key, value) ids for every row, and for common
// keys also a dense column of value ids.
type LabelColumns struct {
	pairs   wire.Ragged[wire.Pair] // sorted by key id
	dense   map[uint32]int         // key id → index into columns
	columns [][]uint32
	keyRows []int32  // number of rows that have a key, by key id
	touched []uint32 // keys without a column whose count has grown
	scratch pairScratch
	rows    int
}

func newLabelColumns() LabelColumns { return LabelColumns{dense: make(map[uint32]int)} }

// LabelColumn is one label key over all rows. No row has key 0.
type LabelColumn struct {
	// Values has the value id of each row, 0 for rows without the label. It is nil if the key
	// has no dense column.
	Values []uint32

	labels *LabelColumns
	key    uint32
}

// Key returns the column of a key id.
func (l *LabelColumns) Key(key uint32) LabelColumn {
	c := LabelColumn{labels: l, key: key}
	if i, ok := l.dense[key]; ok && key != 0 {
		c.Values = l.columns[i]
	}
	return c
}

// At returns the value id of a row, 0 if it does not have the label.
func (c LabelColumn) At(row uint32) uint32 {
	if c.Values != nil {
		return c.Values[row]
	}
	if c.key == 0 {
		return 0
	}
	for _, p := range c.labels.pairs.Row(row) {
		if p.Key == c.key {
			return p.Value
		}
	}
	return 0
}

// Row returns the labels of a row, sorted by key id.
func (l *LabelColumns) Row(row uint32) []wire.Pair { return l.pairs.Row(row) }

func (l *LabelColumns) resize(rows int) {
	l.rows = rows
	l.pairs.Resize(rows)
	for i := range l.columns {
		l.columns[i] = resized(l.columns[i], rows)
	}
}

// write interns and sets the labels of a row and returns the number of bytes written.
func (l *LabelColumns) write(row uint32, labels map[string]string, strings *wire.Dict) int {
	return l.set(row, l.scratch.intern(labels, strings))
}

// pairScratch is scratch memory for interning maps.
type pairScratch struct {
	pairs []wire.Pair
	keys  []string
}

// intern returns a map as pairs, sorted by key id. Strings get ids in the order of the keys,
// because the order of maps is random and the same events must give the same ids.
func (s *pairScratch) intern(m map[string]string, strings *wire.Dict) []wire.Pair {
	s.pairs = s.pairs[:0]
	for k, v := range m {
		p := wire.Pair{Key: strings.Lookup(k), Value: strings.Lookup(v)}
		if p.Key == 0 || p.Value == 0 {
			s.internNew(m, strings)
			break
		}
		s.pairs = append(s.pairs, p)
	}
	slices.SortFunc(s.pairs, func(a, b wire.Pair) int { return cmp.Compare(a.Key, b.Key) })
	return s.pairs
}

// internNew interns a map that contains strings without ids.
func (s *pairScratch) internNew(m map[string]string, strings *wire.Dict) {
	s.pairs, s.keys = s.pairs[:0], s.keys[:0]
	for k := range m {
		s.keys = append(s.keys, k)
	}
	slices.Sort(s.keys)
	for _, k := range s.keys {
		s.pairs = append(s.pairs, wire.Pair{Key: strings.Intern(k), Value: strings.Intern(m[k])})
	}
	clear(s.keys)
}

// set replaces the labels of a row, which are sorted by key id.
func (l *LabelColumns) set(row uint32, pairs []wire.Pair) (bytes int) {
	for _, old := range l.pairs.Row(row) {
		l.keyRows[old.Key]--
		if i, ok := l.dense[old.Key]; ok {
			l.columns[i][row] = 0
		}
	}
	for _, p := range pairs {
		if int(p.Key) >= len(l.keyRows) {
			l.keyRows = append(l.keyRows, make([]int32, int(p.Key)+1-len(l.keyRows))...)
		}
		l.keyRows[p.Key]++
		if i, ok := l.dense[p.Key]; ok {
			l.columns[i][row] = p.Value
			bytes += 4
		} else {
			l.touched = append(l.touched, p.Key)
		}
	}
	return bytes + int(unsafe.Sizeof(wire.Pair{}))*l.pairs.Set(row, pairs)
}

// promote gives dense columns to keys that have become common among n rows.
func (l *LabelColumns) promote(n int) {
	for _, key := range l.touched {
		if _, ok := l.dense[key]; ok || len(l.columns) >= maxDense || int(l.keyRows[key])*denseShare < n {
			continue
		}
		column := make([]uint32, l.rows)
		for row := range uint32(n) {
			for _, p := range l.pairs.Row(row) {
				if p.Key == key {
					column[row] = p.Value
				}
			}
		}
		l.dense[key] = len(l.columns)
		l.columns = append(l.columns, column)
	}
	l.touched = l.touched[:0]
}

func sortImages(images []wire.Image) {
	slices.SortFunc(images, func(a, b wire.Image) int { return cmp.Compare(a.Name, b.Name) })
}

// copyRow copies the labels of a row to an overlay row. Overlays are not counted for common
// keys.
func (l *LabelColumns) copyRow(to, from uint32) {
	l.pairs.Set(to, l.pairs.Row(from))
	for _, column := range l.columns {
		column[to] = column[from]
	}
}

// dropRow empties an overlay row.
func (l *LabelColumns) dropRow(row uint32) {
	l.pairs.Set(row, nil)
	for _, column := range l.columns {
		column[row] = 0
	}
}
