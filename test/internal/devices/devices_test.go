package devices

import (
	"flag"
	"testing"
)

var (
	seeds    = flag.Uint64("seeds", 60, "clusters of each category")
	from     = flag.Uint64("from", 0, "the first seed")
	verdicts = flag.Int("verdicts", 0, "a category goes on with further clusters until it has so many verdicts")
)

// TestSame: both plugins say and write the same.
func TestSame(t *testing.T) {
	for _, category := range Categories() {
		t.Run(string(category), func(t *testing.T) {
			var sum Result
			clusters, most := *seeds, *verdicts
			if category == Conditions {
				clusters, most = (clusters+7)/8, most/8 // each waits for devices
			}
			seed := *from
			for ; seed < *from+clusters || sum.Verdicts < most; seed++ {
				result, err := Compare(t.Context(), category, seed, nil)
				if err != nil {
					t.Fatal(err)
				}
				sum.Verdicts += result.Verdicts
				sum.Fits += result.Fits
				sum.Written += result.Written
				sum.Freed += result.Freed
				sum.Resources += result.Resources
				sum.Deleted += result.Deleted
				sum.Kept += result.Kept
			}
			t.Logf("%d clusters: %+v", seed-*from, sum)
			if sum.Fits == 0 || sum.Fits == sum.Verdicts || sum.Written == 0 || sum.Kept == 0 {
				t.Errorf("the comparison says little: %+v", sum)
			}
		})
	}
}
