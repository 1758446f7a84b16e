package reuse

import (
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
	// stamps is by row how often what the plugin reads has changed; an answer with
	// another stamp does not hold.
	stamps   *[]uint32
	verdicts []verdict
	scores   []score
	reasons  reasons
}

// verdict is a filter's answer. A stamp of 0 is none.
type verdict struct {
	stamp  uint32
	reason uint16 // 0 is none, else one more than the index
	code   abi.Code
}

type score struct {
	value int64
	stamp uint32
}

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

// forget makes all answers such that do not hold.
func (a *Answers) forget() {
	a.keeper.store.numbered++
	a.number = a.keeper.store.numbered
	clear(a.verdicts)
	clear(a.scores)
}

// Verdicts makes room for verdicts about all rows, before workers keep some.
func (a *Answers) Verdicts() { a.verdicts = sized(a, a.verdicts) }

// Scores makes room for scores of all rows, before workers keep some.
func (a *Answers) Scores() { a.scores = sized(a, a.scores) }

// sized returns an array with an element for each row.
func sized[T any](a *Answers, rows []T) []T {
	n := len(*a.stamps)
	if n <= len(rows) {
		return rows
	}
	var element T
	if n > cap(rows) {
		larger := make([]T, n, n+n/4)
		copy(larger, rows)
		a.entry.Grow(int64(cap(larger)-cap(rows)) * int64(unsafe.Sizeof(element)))
		return larger
	}
	return rows[:n]
}

// Verdict returns the verdict on a row, with the number of its reasons; false if none is
// kept that holds.
func (a *Answers) Verdict(row uint32) (code abi.Code, reason uint16, ok bool) {
	stamps := *a.stamps
	if int(row) >= len(a.verdicts) || int(row) >= len(stamps) {
		return 0, 0, false
	}
	v := &a.verdicts[row]
	return v.code, v.reason, v.stamp == stamps[row]
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

// KeepVerdict keeps a verdict on a row. Overlay rows are not kept.
func (a *Answers) KeepVerdict(row uint32, code abi.Code, reason uint16) {
	if stamps := *a.stamps; int(row) < len(a.verdicts) && int(row) < len(stamps) {
		a.verdicts[row] = verdict{stamp: stamps[row], code: code, reason: reason}
	}
}

// Score returns the score of a row as the plugin gave it; false if none is kept that holds.
func (a *Answers) Score(row uint32) (value int64, ok bool) {
	stamps := *a.stamps
	if int(row) >= len(a.scores) || int(row) >= len(stamps) {
		return 0, false
	}
	s := &a.scores[row]
	return s.value, s.stamp == stamps[row]
}

// KeepScore keeps the score of a row. Overlay rows are not kept.
func (a *Answers) KeepScore(row uint32, value int64) {
	if stamps := *a.stamps; int(row) < len(a.scores) && int(row) < len(stamps) {
		a.scores[row] = score{stamp: stamps[row], value: value}
	}
}

// Settle accounts for the reasons that workers kept since it was called last.
func (a *Answers) Settle() {
	if r := &a.reasons; r.bytes > 0 {
		a.entry.Grow(r.bytes)
		r.bytes = 0
	}
}
