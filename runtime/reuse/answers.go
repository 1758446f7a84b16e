package reuse

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Answers is what a plugin answered about the rows of the snapshot, for pods that are
// alike. Rows are read and written by several workers, each its own.
type Answers struct {
	keeper *Keeper
	key    string
	entry  *Entry
	number uint64
	sums   []byte // of the cluster, on which all answers depend
	// What changed is taken into account up to here: in the journal, of so many rows, and
	// in the stamps of rows.
	at       uint64
	rows     int
	stamp    uint32
	verdicts []verdict
	scores   []score
	reasons  reasons
}

// verdict is a filter's answer: 0 is none, else one more than eight times the number of its
// reasons and the code.
type verdict uint16

// score is a score with its sign bit turned, so that 0 is none.
type score int32

// reasons is the texts of verdicts, each list once.
type reasons struct {
	mu    sync.Mutex
	texts [][]string
	index map[string]uint16
	bytes int64
}

// maxReasons is how many lists of reasons are kept; a verdict with another one is not.
const maxReasons = 1 << 10

// Number is another one for answers of other keys, and when all were forgotten.
func (a *Answers) Number() uint64 { return a.number }

// forget drops all answers.
func (a *Answers) forget() {
	a.keeper.store.numbered++
	a.number = a.keeper.store.numbered
	clear(a.verdicts)
	clear(a.scores)
}

// follow drops the answers about rows of which the plugin reads something that changed.
func (a *Answers) follow(j *journal) {
	p := a.keeper.projection
	n := len(p.stamps)
	a.verdicts, a.scores = cut(a.verdicts, n), cut(a.scores, n)
	if rows, ok := j.since(a.at); ok && a.rows == n {
		for _, row := range rows {
			a.check(row)
		}
	} else {
		for row := range n {
			a.check(uint32(row))
		}
	}
	a.at, a.rows, a.stamp = j.end(), n, p.next
}

// check drops the answers about a row that changed since the last one was looked at.
func (a *Answers) check(row uint32) {
	if stamps := a.keeper.projection.stamps; int(row) >= len(stamps) || stamps[row] <= a.stamp {
		return
	}
	if int(row) < len(a.verdicts) {
		a.verdicts[row] = 0
	}
	if int(row) < len(a.scores) {
		a.scores[row] = 0
	}
}

// cut returns the first n elements at most, and clears the others.
func cut[T any](rows []T, n int) []T {
	if len(rows) <= n {
		return rows
	}
	clear(rows[n:])
	return rows[:n]
}

// Verdicts makes room for verdicts about all rows, before workers keep some.
func (a *Answers) Verdicts() { a.verdicts = sized(a, a.verdicts) }

// Scores makes room for scores of all rows, before workers keep some.
func (a *Answers) Scores() { a.scores = sized(a, a.scores) }

// sized returns an array with an element for each row.
func sized[T any](a *Answers, rows []T) []T {
	n := a.rows
	if n <= len(rows) {
		return rows
	}
	var element T
	if n > cap(rows) {
		larger := make([]T, n, n+n/8)
		copy(larger, rows)
		a.entry.Grow(int64(cap(larger)-cap(rows)) * int64(unsafe.Sizeof(element)))
		return larger
	}
	return rows[:n]
}

// Verdict returns the verdict on a row, with the number of its reasons; false if none is
// kept.
func (a *Answers) Verdict(row uint32) (code abi.Code, reason uint16, ok bool) {
	if int(row) >= len(a.verdicts) || a.verdicts[row] == 0 {
		return 0, 0, false
	}
	v := a.verdicts[row] - 1
	return abi.Code(v % 8), uint16(v / 8), true
}

// Texts returns the reasons of a number; nil for 0.
func (a *Answers) Texts(reason uint16) []string {
	if reason == 0 {
		return nil
	}
	a.reasons.mu.Lock()
	defer a.reasons.mu.Unlock()
	return a.reasons.texts[reason-1]
}

// Reason returns the number of a list of reasons; false if there is no room for it.
func (a *Answers) Reason(texts []string) (reason uint16, ok bool) {
	if len(texts) == 0 {
		return 0, true
	}
	r := &a.reasons
	key := strings.Join(texts, "\x00")
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason, ok = r.index[key]; ok {
		return reason, true
	}
	if len(r.texts) == maxReasons {
		return 0, false
	}
	if r.index == nil {
		r.index = make(map[string]uint16)
	}
	r.texts = append(r.texts, slices.Clone(texts))
	r.bytes += int64(2 * len(key))
	reason = uint16(len(r.texts))
	r.index[key] = reason
	return reason, true
}

// KeepVerdict keeps a verdict on a row: a success or a rejection. Overlay rows are not kept.
func (a *Answers) KeepVerdict(row uint32, code abi.Code, reason uint16) {
	if int(row) < len(a.verdicts) {
		a.verdicts[row] = verdict(reason*8+uint16(code)) + 1
	}
}

// Score returns the score of a row as the plugin gave it; false if none is kept.
func (a *Answers) Score(row uint32) (value int64, ok bool) {
	if int(row) >= len(a.scores) || a.scores[row] == 0 {
		return 0, false
	}
	return int64(a.scores[row] ^ math.MinInt32), true
}

// KeepScore keeps the score of a row, if it has 32 bits. Overlay rows are not kept.
func (a *Answers) KeepScore(row uint32, value int64) {
	if int(row) >= len(a.scores) {
		return
	}
	a.scores[row] = 0
	if value > math.MinInt32 && value <= math.MaxInt32 {
		a.scores[row] = score(value) ^ math.MinInt32
	}
}

// Settle accounts for the reasons that workers kept since it was called last.
func (a *Answers) Settle() {
	if r := &a.reasons; r.bytes > 0 {
		a.entry.Grow(r.bytes)
		r.bytes = 0
	}
}
