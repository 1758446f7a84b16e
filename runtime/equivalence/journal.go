package equivalence

// journal is the rows that may have changed, one after the other, for readers that look
// now and then. A reader keeps the position up to which it has read.
type journal struct {
	rows  []uint32
	first uint64 // the position of rows[0]
}

// add appends rows, and drops the oldest if there are many more than n rows of the snapshot:
// to who is that far behind, a look at all rows costs no more.
func (j *journal) add(rows []uint32, n int) {
	j.rows = append(j.rows, rows...)
	if most := 2*n + 64; len(j.rows) > most {
		old := len(j.rows) - most/2
		j.first += uint64(old)
		j.rows = j.rows[:copy(j.rows, j.rows[old:])]
	}
}

// lose says that any row may have changed.
func (j *journal) lose() {
	j.first += uint64(len(j.rows)) + 1
	j.rows = j.rows[:0]
}

// end is the position of the next row.
func (j *journal) end() uint64 { return j.first + uint64(len(j.rows)) }

// since returns the rows from a position on, in which a row may come several times; false if
// it could be any row.
func (j *journal) since(at uint64) (rows []uint32, ok bool) {
	if at < j.first {
		return nil, false
	}
	return j.rows[at-j.first:], true
}
