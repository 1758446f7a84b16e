package gang

import (
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// The keys of the state: how many members have a node, the free rank, and the UIDs, one per
// line.
const (
	countKey = "count"
	rankKey  = "rank"
	uidsKey  = "uids"
)

// keep stores what PreFilter found in the state. UIDs are sorted, because the order of nodes
// and pods has no meaning. Those beyond Most are dropped: the gang was complete before the last
// of them came, so they do not wait. It fits: 256 UIDs of 36 bytes are 10 KB.
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

// members are the others in a pod's gang, as PreFilter saw them.
type members struct {
	count int
	rank  string // the free rank
	uids  iter.Seq[string]
}

// members returns what PreFilter stored; ok is false for a pod without a gang.
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

// mostRanks is the number of ranks that are tracked.
const mostRanks = 65536

// mark marks a rank as taken.
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

// lowest returns the lowest free rank.
func lowest(ranks []uint64) int {
	for i, word := range ranks {
		if word != 1<<64-1 {
			return 64*i + bits.TrailingZeros64(^word)
		}
	}
	return 64 * len(ranks)
}
