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
			e := ended{rapid.Uint8Range(0, 3).Draw(t, "weight"), rapid.Int64Range(0, 3).Draw(t, "starts")}
			w.add(e)
			if all = append(all, e); rapid.IntRange(0, 50).Draw(t, "forgive") == 0 {
				w.forgive()
				for i := range all {
					all[i].weight = 0
				}
			}
			faults, weight, starts := 0, 0, int64(0)
			for _, e := range all[max(0, len(all)-windowCalls):] {
				starts, weight = starts+e.starts, weight+int(e.weight)
				if e.weight > 0 {
					faults++
				}
			}
			if w.faults != faults || w.weight != weight || w.starts != starts {
				t.Fatalf("%d faults that weigh %d and %d for starts, want %d, %d and %d", w.faults, w.weight, w.starts, faults, weight, starts)
			}
		}
	})
	for used, want := range map[int64]uint8{-1: 1, 0: 1, 9: 1, 10: 2, 50: 6, 99: 10, 100: 11, 1 << 60: 11} {
		if got := weigh(used, 100); got != want {
			t.Errorf("a fault that used %d of 100 weighs %d, want %d", used, got, want)
		}
	}
	if got := weigh(5, 0); got != 1 {
		t.Errorf("without a cycle's fuel a fault weighs %d", got)
	}
}
