package equivalence_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/equivalence"
)

// TestTree: after any changes the tree finds what a look at all rows finds.
func TestTree(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "rows")
		row, total := rapid.Uint32Range(0, uint32(n-1)), rapid.Int64Range(-2, 2)
		totals := rapid.MapOf(row, total).Draw(t, "totals")
		var tree equivalence.Tree
		build := func() {
			rows := slices.Sorted(maps.Keys(totals))
			var values []int64
			for _, row := range rows {
				values = append(values, totals[row])
			}
			tree.Build(n, rows, values)
		}
		build()
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			switch at := row.Draw(t, "row"); rapid.IntRange(0, 9).Draw(t, "change") {
			case 0:
				build()
			case 1, 2, 3:
				delete(totals, at)
				tree.Remove(at)
			default:
				totals[at] = total.Draw(t, "total")
				tree.Set(at, totals[at])
			}
		}
		sorted := slices.SortedFunc(maps.Keys(totals), func(a, b uint32) int {
			return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
		})
		most := rapid.IntRange(1, 6).Draw(t, "most")
		if got, want := tree.Top(nil, most), sorted[:min(most, len(sorted))]; !slices.Equal(got, want) {
			t.Fatalf("the best rows are %v, want %v of %v", got, want, totals)
		}
		ties := 0
		for ties < len(sorted) && totals[sorted[ties]] == totals[sorted[0]] {
			ties++
		}
		highest, count := tree.Best()
		if count != ties || ties > 0 && highest != totals[sorted[0]] {
			t.Fatalf("%d rows have %d, want %d of %v", count, highest, ties, totals)
		}
		for k := range ties {
			if got := tree.Tie(k); got != sorted[k] || tree.Total(got) != highest {
				t.Fatalf("tie %d is row %d, want %d of %v", k, got, sorted[k], totals)
			}
		}
	})
}
