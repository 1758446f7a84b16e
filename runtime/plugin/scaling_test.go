package plugin_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// TestScaling: whatever a plugin answers, scores end in range and keep their
// order; the best is 100 unless all are the same.
func TestScaling(t *testing.T) {
	extreme := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, math.MinInt64 + 1, 0, 100}))
	seeded.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(extreme, 0, 6).Draw(t, "scores")
		how := rapid.SampledFrom([]plugin.Scaling{plugin.ToMax, plugin.Reversed, plugin.Spread}).Draw(t, "how")
		got := slices.Clone(raw)
		how.Scale(got)
		for i, s := range got {
			if s < 0 || s > 100 {
				t.Fatalf("%d of %v is %v", how, raw, got)
			}
			if raw[i] == abi.NoScore {
				if s != 0 {
					t.Fatalf("%d of %v is %v, though a node has no score", how, raw, got)
				}
				continue
			}
			for j := range got[:i] {
				if raw[j] == abi.NoScore {
					continue
				}
				less := raw[i] < raw[j] && got[i] > got[j] || raw[i] > raw[j] && got[i] < got[j]
				if how == plugin.Reversed {
					less = raw[i] < raw[j] && got[i] < got[j] || raw[i] > raw[j] && got[i] > got[j]
				}
				if less {
					t.Fatalf("%d of %v is %v", how, raw, got)
				}
			}
		}
		without := func(scores []int64) (out []int64) {
			for i, s := range scores {
				if raw[i] != abi.NoScore {
					out = append(out, s)
				}
			}
			return out
		}
		got = without(got)
		if raw = without(raw); len(raw) == 0 {
			return
		}
		lowest, highest := slices.Min(raw), slices.Max(raw)
		best, worst := slices.Max(got), slices.Min(got)
		switch how {
		case plugin.Spread:
			if lowest != highest && (best != 100 || worst != 0) || lowest == highest && best != 0 {
				t.Fatalf("minmax of %v is %v", raw, got)
			}
		case plugin.ToMax:
			if highest > 0 && best != 100 || highest <= 0 && best != 0 {
				t.Fatalf("max of %v is %v", raw, got)
			}
		case plugin.Reversed:
			if highest > 0 && worst != 0 || highest <= 0 && worst != 100 {
				t.Fatalf("reverse of %v is %v", raw, got)
			}
		}
	})
}
