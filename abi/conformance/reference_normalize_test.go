package conformance_test

import (
	"math/big"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// normalized applies a declared normalization (ABI-9.5).
func normalized(h *reference, kind string, scores []int64) []int64 {
	out := slices.Clone(scores)
	if len(out) == 0 {
		return out
	}
	given := slices.DeleteFunc(slices.Clone(scores), func(s int64) bool { return s == abi.NoScore && !h.wrong("no score is the lowest") })
	if len(given) == 0 {
		return make([]int64, len(out))
	}
	low, high := slices.Min(given), max(0, slices.Max(given))
	if kind == wire.NormalizeMinMax {
		high = slices.Max(given)
	}
	for i, s := range scores {
		if s == abi.NoScore {
			out[i] = 0
			continue
		}
		switch kind {
		case wire.NormalizeMax, wire.NormalizeReverse:
			out[i] = 0
			if high > 0 {
				out[i] = hundredth(max(0, s), 0, high)
			}
			if kind == wire.NormalizeReverse && !h.wrong("reverse does not turn around") {
				out[i] = 100 - out[i]
			}
		case wire.NormalizeMinMax:
			if out[i] = 0; h.wrong("equal scores are all the highest") {
				out[i] = 100
			}
			if high > low {
				out[i] = hundredth(s, low, high)
			}
		}
	}
	return out
}

// hundredth is where a score lies between two others, from 0 to 100.
func hundredth(s, low, high int64) int64 {
	above := new(big.Int).Sub(big.NewInt(s), big.NewInt(low))
	width := new(big.Int).Sub(big.NewInt(high), big.NewInt(low))
	return above.Mul(above, big.NewInt(100)).Div(above, width).Int64()
}
