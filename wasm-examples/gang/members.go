package gang

import (
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// The keys of the state: how many members have a place, the rank that is free, and
// the UIDs, a line each.
const (
	countKey = "count"
	rankKey  = "rank"
	uidsKey  = "uids"
)

// keep puts what PreFilter found into the state. UIDs are sorted, since the order of
// nodes and pods means nothing. Those beyond the most are left out: the gang was
// complete before the last of them came, so they do not wait. It fits: 256 UIDs of 36
// bytes are 10 KB.
func (p *Gang) keep(rank int) {
	p.StateSet(countKey, []byte(strconv.Itoa(len(p.uids))))
	p.StateSet(rankKey, []byte(strconv.Itoa(rank)))
	slices.Sort(p.uids)
	p.lines = p.lines[:0]
	for _, uid := range p.uids[:min(len(p.uids), Most)] {
		p.lines = append(append(p.lines, uid...), '\n')
	}
	p.StateSet(uidsKey, p.lines)
}

// members is the others of a pod's gang, as of PreFilter.
type members struct {
	count int
	rank  string // that is free
	uids  iter.Seq[string]
}

// members returns what PreFilter kept; ok is false for a pod of no gang.
func (p *Gang) members() (m members, ok bool) {
	count, ok := p.StateGet(countKey)
	if !ok {
		return m, false
	}
	rank, _ := p.StateGet(rankKey)
	uids, _ := p.StateGet(uidsKey)
	m.count, _ = number(string(count))
	m.rank = string(rank)
	m.uids = func(yield func(string) bool) {
		for line := range strings.Lines(string(uids)) {
			if !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
	return m, true
}

// mostRanks bounds the ranks that are told apart.
const mostRanks = 65536

// mark notes that a rank is taken.
func mark(ranks []uint64, rank int) []uint64 {
	if rank >= mostRanks {
		return ranks
	}
	for len(ranks) <= rank/64 {
		ranks = append(ranks, 0)
	}
	ranks[rank/64] |= 1 << (rank % 64)
	return ranks
}

// lowest returns the lowest rank that is free.
func lowest(ranks []uint64) int {
	for i, word := range ranks {
		if word != 1<<64-1 {
			return 64*i + bits.TrailingZeros64(^word)
		}
	}
	return 64 * len(ranks)
}
