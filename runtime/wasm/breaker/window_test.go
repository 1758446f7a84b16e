package breaker

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
)

// TestWindow: the sums are those of the last 100 calls, and forgiving keeps the fuel of starts.
func TestWindow(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		var w window
		var all []ended
		for range rapid.IntRange(1, 250).Draw(t, "calls") {
			e := ended{rapid.Bool().Draw(t, "faulted"), rapid.Int64Range(0, 3).Draw(t, "starts")}
			w.add(e)
			if all = append(all, e); rapid.IntRange(0, 50).Draw(t, "forgive") == 0 {
				w.forgive()
				for i := range all {
					all[i].faulted = false
				}
			}
			faults, starts := 0, int64(0)
			for _, e := range all[max(0, len(all)-windowCalls):] {
				if starts += e.starts; e.faulted {
					faults++
				}
			}
			if w.faults != faults || w.starts != starts {
				t.Fatalf("%d faults and %d for starts, want %d and %d", w.faults, w.starts, faults, starts)
			}
		}
	})
}
