package plugin

import (
	"math/bits"

	"github.com/berth-scheduler/berth/abi"
)

// Scaling brings scores into range (ABI-9.5), each by itself: from the lowest and the highest
// score of all feasible nodes. abi.NoScore is neither, and becomes 0.
type Scaling uint8

// The scalings.
const (
	// Unscaled leaves scores as they are.
	Unscaled Scaling = iota
	// ToMax makes the highest score 100 and 0 stay 0. A score below 0 counts as 0.
	ToMax
	// Reversed is 100 less what ToMax gives.
	Reversed
	// Spread makes the lowest score 0 and the highest 100; all are 0 if they are equal.
	Spread
)

// Bounds returns between which scores the scaling maps.
func (s Scaling) Bounds(lowest, highest int64) (from, to int64) {
	switch s {
	case Unscaled:
		return 0, 0
	case Spread:
		return lowest, highest
	}
	return 0, max(0, highest)
}

// Apply scales a score between two bounds.
func (s Scaling) Apply(score, from, to int64) int64 {
	if s == Unscaled {
		return score
	}
	if score == abi.NoScore {
		return abi.MinScore
	}
	score = share(max(score, from), from, to)
	if s == Reversed {
		score = abi.MaxScore - score
	}
	return score
}

// Scale brings scores into range.
func (s Scaling) Scale(scores []int64) {
	if s == Unscaled || len(scores) == 0 {
		return
	}
	lowest, highest, any := int64(0), int64(0), false
	for _, score := range scores {
		if score == abi.NoScore {
			continue
		}
		if !any {
			lowest, highest, any = score, score, true
		}
		lowest, highest = min(lowest, score), max(highest, score)
	}
	from, to := s.Bounds(lowest, highest)
	for i, score := range scores {
		scores[i] = s.Apply(score, from, to)
	}
}

// share maps from … to to 0 … 100, rounded down; 0 if they are equal.
func share(score, from, to int64) int64 {
	width := uint64(to) - uint64(from)
	if width == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(score)-uint64(from), uint64(abi.MaxScore))
	quotient, _ := bits.Div64(hi, lo, width)
	return int64(quotient)
}
