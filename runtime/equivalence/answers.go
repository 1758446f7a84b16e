package equivalence

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Answers is what a plugin answered about the rows of the snapshot, for pods of one
// signature. Rows are read by several workers, and written by them, each its own, unless they are
// Shared.
type Answers struct {
	plugin    *PluginCache
	signature string
	entry     *Entry
	number    uint64
	sums      []byte // of the cluster, on which all answers depend
	// What changed is taken into account up to here: in the journal, of so many places, and
	// in the stamps of places.
	at     uint64
	places int
	stamp  uint32
	// By place: the row, or the number of what the row has if rows share answers.
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
	a.plugin.store.numbered++
	a.number = a.plugin.store.numbered
	clear(a.verdicts)
	clear(a.scores)
}

// Shared reports whether rows with the same content share answers. Then workers only read
// them.
func (a *Answers) Shared() bool { return a.plugin.projection.contents != nil }

// Place returns where the answers about a row are: elsewhere than those about rows with
// another content.
func (a *Answers) Place(row uint32) uint32 {
	if c := a.plugin.projection.contents; c != nil {
		if int(row) >= len(c.of) {
			return math.MaxUint32 // of an overlay row
		}
		return c.of[row]
	}
	return row
}

// follow drops the answers about rows of which the plugin reads something that changed.
func (a *Answers) follow(j *journal) {
	p := a.plugin.projection
	stamps := p.stamps
	if p.contents != nil {
		stamps, j = p.contents.births, &p.contents.born
	}
	n := len(stamps)
	a.verdicts, a.scores = cut(a.verdicts, n), cut(a.scores, n)
	if changed, ok := j.since(a.at); ok && (a.places == n || p.contents != nil) {
		for _, place := range changed {
			a.check(place, stamps)
		}
	} else {
		for place := range n {
			a.check(uint32(place), stamps)
		}
	}
	a.at, a.places, a.stamp = j.end(), n, p.next
}

// check drops the answers at a place that changed since the last one was looked at.
func (a *Answers) check(place uint32, stamps []uint32) {
	if int(place) >= len(stamps) || stamps[place] <= a.stamp {
		return
	}
	if int(place) < len(a.verdicts) {
		a.verdicts[place] = 0
	}
	if int(place) < len(a.scores) {
		a.scores[place] = 0
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

// sized returns an array with an element for each place.
func sized[T any](a *Answers, rows []T) []T {
	n := a.places
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
	place := a.Place(row)
	if int(place) >= len(a.verdicts) || a.verdicts[place] == 0 {
		return 0, 0, false
	}
	v := a.verdicts[place] - 1
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
	if place := a.Place(row); int(place) < len(a.verdicts) {
		a.verdicts[place] = verdict(reason*8+uint16(code)) + 1
	}
}

// Score returns the score of a row as the plugin gave it; false if none is kept.
func (a *Answers) Score(row uint32) (value int64, ok bool) {
	place := a.Place(row)
	if int(place) >= len(a.scores) || a.scores[place] == 0 {
		return 0, false
	}
	if value = int64(a.scores[place] ^ math.MinInt32); value == none {
		value = abi.NoScore
	}
	return value, true
}

// none stands for abi.NoScore among scores of 32 bits.
const none = math.MinInt32 + 1

// KeepScore keeps the score of a row, if it has 32 bits or is abi.NoScore. Overlay rows are not kept.
func (a *Answers) KeepScore(row uint32, value int64) {
	place := a.Place(row)
	if int(place) >= len(a.scores) {
		return
	}
	a.scores[place] = 0
	if value == abi.NoScore {
		a.scores[place] = score(none ^ math.MinInt32)
	} else if value > none && value <= math.MaxInt32 {
		a.scores[place] = score(value) ^ math.MinInt32
	}
}

// Settle accounts for the reasons that workers kept since it was called last.
func (a *Answers) Settle() {
	if r := &a.reasons; r.bytes > 0 {
		a.entry.Grow(r.bytes)
		r.bytes = 0
	}
}
