package cycle

import "testing"

// TestFeasibleToFind has kube-scheduler's numbers.
func TestFeasibleToFind(t *testing.T) {
	percent := func(p int32) *int32 { return &p }
	for _, c := range []struct {
		percentage *int32
		nodes      int
		want       int
	}{
		{nil, 15000, 15000},
		{percent(1), 99, 99},
		{percent(1), 100, 100},
		{percent(40), 10, 10},
		{percent(40), 1000, 400},
		{percent(100), 1000, 1000},
		{percent(0), 1000, 420},
		{percent(0), 6000, 300},
		{percent(0), 5625, 281},
		{percent(0), 100, 100},
		{percent(0), 150, 100},
		{percent(5), 1000, 100},
	} {
		if got := feasibleToFind(c.percentage, c.nodes); got != c.want {
			t.Errorf("%d nodes: %d, want %d", c.nodes, got, c.want)
		}
	}
}

func TestParseTieBreak(t *testing.T) {
	for name, want := range map[string]TieBreak{"random": Random, "first": First} {
		if got, err := ParseTieBreak(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := ParseTieBreak("last"); err == nil {
		t.Error("a tie-break that is none")
	}
}
