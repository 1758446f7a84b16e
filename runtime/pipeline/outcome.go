package pipeline

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// Outcome is the verdicts of the filters on rows of a snapshot.
type Outcome struct {
	// Codes is the verdicts by row.
	Codes []abi.Code
	// Evaluated is the rows that count as looked at, in the order of the search.
	Evaluated []uint32

	numbers []uint32 // by row: of its verdict in table
	table   verdictTable
	few     bool     // only the rows touched have a verdict
	touched []uint32 // some rows that have one
}

// reset forgets all verdicts: at a cost of those that there are, if they are few.
func (o *Outcome) reset(rows int) {
	if o.few && len(o.Codes) == rows {
		for _, row := range o.touched {
			o.forget(row)
		}
	} else {
		o.Codes = slices.Grow(o.Codes[:0], rows)[:rows]
		o.numbers = slices.Grow(o.numbers[:0], rows)[:rows]
		clear(o.Codes)
		clear(o.numbers)
	}
	o.few, o.touched = false, o.touched[:0]
	o.table.reset()
	o.Evaluated = o.Evaluated[:0]
}

// resize makes room for overlay rows that came in the middle of a cycle.
func (o *Outcome) resize(rows int) {
	for len(o.Codes) < rows {
		o.Codes, o.numbers = append(o.Codes, abi.Success), append(o.numbers, 0)
	}
}

// forget makes a row one that was not judged.
func (o *Outcome) forget(row uint32) { o.Codes[row], o.numbers[row] = abi.Success, 0 }

// copyRow gives row to the verdict of row from.
func (o *Outcome) copyRow(to, from uint32) {
	o.Codes[to], o.numbers[to] = o.Codes[from], o.numbers[from]
}

// Groups returns the highest number that Group gives.
func (o *Outcome) Groups() int { return len(o.table.verdicts) }

// Group returns the index of the plugin that rejected a row and the number of
// the verdict: rows have the same if and only if the same plugin rejected them
// with the same code and the same reasons. 0 is the number of success.
func (o *Outcome) Group(row uint32) (plugin, number int) {
	if n := o.numbers[row]; n != 0 {
		return int(o.table.verdicts[n-1].plugin), int(n)
	}
	return 0, 0
}

// Number returns the number of a row's verdict, as Group does.
func (o *Outcome) Number(row uint32) int { return int(o.numbers[row]) }

// Texts returns the reasons of a row's verdict.
func (o *Outcome) Texts(row uint32) []string {
	if n := o.numbers[row]; n != 0 {
		return o.table.verdicts[n-1].texts
	}
	return nil
}

// verdict is what a plugin says of rows that it rejects.
type verdict struct {
	plugin uint8
	code   abi.Code
	texts  []string
}

// verdictTable numbers verdicts from 1 in the order in which they come. There
// are few as a rule; index is made when there are many.
type verdictTable struct {
	verdicts []verdict
	index    map[string]uint32
	key      []byte
}

// manyVerdicts is from how many on looking through them is slower than a map.
const manyVerdicts = 16

func (t *verdictTable) reset() {
	clear(t.verdicts)
	t.verdicts = t.verdicts[:0]
	clear(t.index)
}

// number returns the number of a verdict.
func (t *verdictTable) number(v verdict) uint32 {
	if len(t.verdicts) < manyVerdicts {
		for i := range t.verdicts {
			if t.verdicts[i].equal(&v) {
				return uint32(i + 1)
			}
		}
		t.verdicts = append(t.verdicts, v)
		return uint32(len(t.verdicts))
	}
	if t.index == nil {
		t.index = make(map[string]uint32)
	}
	if len(t.index) == 0 {
		for i := range t.verdicts {
			t.index[string(t.keyOf(&t.verdicts[i]))] = uint32(i + 1)
		}
	}
	key := t.keyOf(&v)
	n, ok := t.index[string(key)]
	if !ok {
		t.verdicts = append(t.verdicts, v)
		n = uint32(len(t.verdicts))
		t.index[string(key)] = n
	}
	return n
}

// keep forgets all verdicts but the first n. No row has one of the others.
func (t *verdictTable) keep(n int) {
	switch {
	case len(t.index) == 0:
	case n < manyVerdicts:
		clear(t.index)
	default:
		for i := range t.verdicts[n:] {
			delete(t.index, string(t.keyOf(&t.verdicts[n+i])))
		}
	}
	clear(t.verdicts[n:])
	t.verdicts = t.verdicts[:n]
}

// failed reports whether a verdict is neither success nor a rejection.
func (t *verdictTable) failed() bool {
	return slices.ContainsFunc(t.verdicts, func(v verdict) bool { return !v.code.Rejected() })
}

func (v *verdict) equal(o *verdict) bool {
	return v.plugin == o.plugin && v.code == o.code && slices.Equal(v.texts, o.texts)
}

func (t *verdictTable) keyOf(v *verdict) []byte {
	t.key = append(t.key[:0], v.plugin, byte(v.code))
	for _, text := range v.texts {
		t.key = append(append(t.key, text...), 0)
	}
	return t.key
}

// numbered remembers the number of a reason set of one call, as most rows that
// a call rejects have few.
type numbered struct {
	code   abi.Code
	number uint32
}
