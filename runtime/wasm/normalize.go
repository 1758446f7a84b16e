package wasm

import (
	"math/bits"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// normalize brings scores of any size into range, as declared (ABI-9.5).
func normalize(how string, scores []int64) {
	if how == wire.NormalizeNone || len(scores) == 0 {
		return
	}
	lowest, highest := scores[0], scores[0]
	for _, s := range scores {
		lowest, highest = min(lowest, s), max(highest, s)
	}
	if how != wire.NormalizeMinMax {
		lowest, highest = 0, max(0, highest)
	}
	for i, s := range scores {
		s = share(max(s, lowest), lowest, highest)
		if how == wire.NormalizeReverse {
			s = abi.MaxScore - s
		}
		scores[i] = s
	}
}

// share maps lowest … highest to 0 … 100, rounded down; 0 if they are equal.
func share(s, lowest, highest int64) int64 {
	width := uint64(highest) - uint64(lowest)
	if width == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(s)-uint64(lowest), uint64(abi.MaxScore))
	quotient, _ := bits.Div64(hi, lo, width)
	return int64(quotient)
}
