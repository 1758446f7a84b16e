package plugin_test

import (
	"math"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

func TestNormalizeMaxValues(t *testing.T) {
	for _, test := range []struct {
		in      []int64
		reverse bool
		want    []int64
	}{
		{[]int64{0, 0}, false, []int64{0, 0}},
		{[]int64{0, 0}, true, []int64{100, 100}},
		{[]int64{1, 2, 3}, false, []int64{33, 66, 100}},
		{[]int64{1, 2, 3}, true, []int64{67, 34, 0}},
		{[]int64{math.MaxInt64, math.MaxInt64 / 2}, false, []int64{100, 49}},
		{[]int64{-1, 2}, false, []int64{-50, 100}},
		{[]int64{math.MinInt64, math.MaxInt64}, false, []int64{-100, 100}},
	} {
		got := slices.Clone(test.in)
		plugin.NormalizeMax(got, test.reverse)
		if !slices.Equal(got, test.want) {
			t.Errorf("NormalizeMax(%v, %v) = %v, want %v", test.in, test.reverse, got, test.want)
		}
	}
}
