package conformance_test

import (
	"slices"

	"github.com/berth-scheduler/berth/abi/wire"
)

// normalized applies a declared normalization (ABI-9.5).
func normalized(h *reference, kind string, scores []int64) []int64 {
	out := slices.Clone(scores)
	if len(out) == 0 {
		return out
	}
	low, high := slices.Min(scores), max(0, slices.Max(scores))
	if kind == wire.NormalizeMinMax {
		high = slices.Max(scores)
	}
	for i, s := range scores {
		switch kind {
		case wire.NormalizeMax, wire.NormalizeReverse:
			out[i] = 0
			if high > 0 {
				out[i] = max(0, s) * 100 / high
			}
			if kind == wire.NormalizeReverse && !h.wrong("reverse does not turn around") {
				out[i] = 100 - out[i]
			}
		case wire.NormalizeMinMax:
			if out[i] = 0; h.wrong("equal scores are all the highest") {
				out[i] = 100
			}
			if high > low {
				out[i] = (s - low) * 100 / (high - low)
			}
		}
	}
	return out
}
