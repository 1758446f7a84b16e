package wire

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
)

// TestRagged: after any Set, SetTail, Append and Resize, a ragged column equals a slice of slices, and
// its spans do not overlap.
func TestRagged(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		var column Ragged[int]
		var model [][]int
		next := 0 // every entry is a different number
		fresh := func(n int) []int {
			out := make([]int, n)
			for i := range out {
				next++
				out[i] = next
			}
			return out
		}
		row := func(t *rapid.T) uint32 {
			if len(model) == 0 {
				t.Skip("no rows")
			}
			return uint32(rapid.IntRange(0, len(model)-1).Draw(t, "row"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if len(column.Spans) != len(model) {
					t.Fatalf("%d rows, want %d", len(column.Spans), len(model))
				}
				for i, want := range model {
					if got := column.Row(uint32(i)); !slices.Equal(got, want) {
						t.Fatalf("row %d is %v, want %v", i, got, want)
					}
				}
				requireSound(t, &column)
			},
			"resize": func(t *rapid.T) {
				n := rapid.IntRange(0, 8).Draw(t, "rows")
				column.Resize(n)
				for len(model) < n {
					model = append(model, nil)
				}
				model = model[:n]
			},
			"set": func(t *rapid.T) {
				i, n := row(t), rapid.IntRange(0, 700).Draw(t, "entries")
				entries := fresh(n)
				if got := column.Set(i, entries); got != n {
					t.Fatalf("Set wrote %d entries, want %d", got, n)
				}
				model[i] = entries
			},
			"copy": func(t *rapid.T) {
				to, from := row(t), row(t)
				column.Set(to, column.Row(from))
				model[to] = slices.Clone(model[from])
			},
			"set tail": func(t *rapid.T) {
				i := row(t)
				from, n := rapid.IntRange(0, len(model[i])).Draw(t, "from"), rapid.IntRange(0, 700).Draw(t, "entries")
				entries := fresh(n)
				if got := column.SetTail(i, from, entries); got != n {
					t.Fatalf("SetTail wrote %d entries, want %d", got, n)
				}
				model[i] = append(slices.Clip(model[i][:from]), entries...)
			},
			"append": func(t *rapid.T) {
				i := row(t)
				for _, entry := range fresh(rapid.IntRange(1, 300).Draw(t, "entries")) {
					column.Append(i, entry)
					model[i] = append(slices.Clip(model[i]), entry)
				}
			},
		})
	})
}

// requireSound fails if spans overlap or exceed the data, or if the count of dead entries is
// wrong.
func requireSound(t *rapid.T, c *Ragged[int]) {
	spans := slices.Clone(c.Spans)
	slices.SortFunc(spans, func(a, b Span) int { return int(a.Start) - int(b.Start) })
	end, live := uint32(0), 0
	for _, s := range spans {
		if s.Cap == 0 {
			continue
		}
		if s.Start < end || s.Len > s.Cap || int(s.Start+s.Cap) > len(c.Data) {
			t.Fatalf("span %+v overlaps the one before, which ends at %d, or the data, %d", s, end, len(c.Data))
		}
		end = s.Start + s.Cap
		live += int(s.Cap)
	}
	if c.dead != len(c.Data)-live {
		t.Fatalf("%d entries are dead, but the column counts %d", len(c.Data)-live, c.dead)
	}
}

// TestRaggedAppendWhileCompacting: an append that compacts the column keeps the row's entries.
func TestRaggedAppendWhileCompacting(t *testing.T) {
	var column Ragged[int]
	column.Resize(3)
	for n := 1; n <= 1<<12; n *= 2 { // leaves dead entries in front
		column.Set(0, make([]int, n))
	}
	column.Set(0, nil)
	column.Resize(3)
	column.Set(2, []int{7})
	column.Spans[0] = Span{} // all of row 0 is dead
	column.dead += 1 << 12
	for entry := 8; entry < 20; entry++ {
		column.Append(2, entry)
	}
	if got, want := column.Row(2), []int{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}; !slices.Equal(got, want) {
		t.Errorf("row is %v, want %v", got, want)
	}
	if len(column.Data) > 64 {
		t.Errorf("the column was not compacted: %d entries", len(column.Data))
	}
}

// TestRaggedStaysSmall: a row that keeps growing and shrinking leaves at most as many dead
// entries as live ones, plus a constant.
func TestRaggedStaysSmall(t *testing.T) {
	var column Ragged[int]
	column.Resize(10)
	for i := range 100_000 {
		row := uint32(i % 10)
		if i%3 == 0 { // the row is removed and added again
			column.Resize(9)
			column.Resize(10)
			row = 9
		}
		column.Set(row, make([]int, i%50))
	}
	if len(column.Data) > 3*1024 {
		t.Errorf("10 rows of at most 64 entries take %d entries", len(column.Data))
	}
}

func BenchmarkRaggedSet(b *testing.B) {
	var column Ragged[uint32]
	column.Resize(1000)
	entries := make([]uint32, 64)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		column.Set(uint32(i%1000), entries[:i%64])
	}
}
