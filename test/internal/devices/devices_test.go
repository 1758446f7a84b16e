package devices

import (
	"flag"
	"testing"
)

var (
	seeds = flag.Uint64("seeds", 60, "clusters of each category")
	from  = flag.Uint64("from", 0, "the first seed")
)

// TestSame: both plugins say and write the same.
func TestSame(t *testing.T) {
	for _, category := range Categories() {
		t.Run(string(category), func(t *testing.T) {
			var sum Result
			clusters := *seeds
			if category == Conditions {
				clusters = (clusters + 7) / 8 // each waits for devices
			}
			for seed := *from; seed < *from+clusters; seed++ {
				result, err := Compare(t.Context(), category, seed, nil)
				if err != nil {
					t.Fatal(err)
				}
				sum.Verdicts += result.Verdicts
				sum.Fits += result.Fits
				sum.Written += result.Written
				sum.Freed += result.Freed
			}
			t.Logf("%+v", sum)
			if sum.Fits == 0 || sum.Fits == sum.Verdicts || sum.Written == 0 {
				t.Errorf("the comparison says little: %+v", sum)
			}
		})
	}
}
