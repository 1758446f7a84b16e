package mirror

import (
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// TestShare: mirrors that share rows hold every row once, in ascending order,
// and count what they hold.
func TestShare(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		src := &Source{Shards: rapid.IntRange(1, 9).Draw(t, "shards")}
		n := uint32(rapid.OneOf(rapid.IntRange(0, 20*plugin.BlockRows), rapid.Map(rapid.IntRange(0, 20), func(i int) int {
			return max(0, i*plugin.BlockRows+i%3-1)
		})).Draw(t, "rows"))
		held := uint32(0)
		for index := range src.Shards {
			s := src.Mirror(index)
			count := s.count(n)
			held += count
			last := -1
			for local := range count {
				row := s.host(local)
				if row >= n || int(row) <= last || !s.holds(row) || s.Local(row) != local {
					t.Fatalf("mirror %d: local row %d is host row %d, and back %d; the last was %d", index, local, row, s.Local(row), last)
				}
				last = int(row)
			}
			if count < n && s.host(count) < n {
				t.Fatalf("mirror %d holds more than %d rows of %d", index, count, n)
			}
		}
		if held != n {
			t.Fatalf("%d rows of %d are held", held, n)
		}
	})
}

// TestRoomForRows: what is measured has room for the rows of the fullest mirror,
// and for half as many again.
func TestRoomForRows(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 100000).Draw(t, "rows")
		src := &Source{Shards: Split(n, rapid.IntRange(0, 16).Draw(t, "shards"))}
		if got, want := src.rowsEach(n), src.Mirror(0).count(uint32(n+n/2)); got < want {
			t.Fatalf("%d shards of %d rows have room for %d, not %d", src.Shards, n, got, want)
		}
	})
}

// TestHalf: capacities do not wrap.
func TestHalf(t *testing.T) {
	for _, n := range []uint64{0, 1, math.MaxUint32 / 2, math.MaxUint32, math.MaxUint32 * 16} {
		if got := half(n, 1024); uint64(got) < min(n, math.MaxUint32/2) {
			t.Errorf("half(%d) is %d", n, got)
		}
	}
}

// TestArena: rows never overlap, keep their place while they fit, and use no more
// than twice what they hold when they only grow.
func TestArena(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		a := &arena{}
		const limit = 4096
		lens := map[uint32]uint32{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			row, n := rapid.Uint32Range(0, 8).Draw(t, "row"), rapid.Uint32Range(0, 200).Draw(t, "n")
			top := a.top
			start, err := a.reserve(row, n, limit)
			if err != nil {
				if uint64(top)+roomFor(int(n)) <= limit {
					t.Fatalf("no room for %d at %d", n, top)
				}
				continue
			}
			lens[row] = n
			if start+n > a.top || a.top > limit {
				t.Fatalf("%d elements at %d, the top is %d", n, start, a.top)
			}
		}
		type span struct{ from, to uint32 }
		var all []span
		for row, n := range lens {
			s := a.spans[row]
			if s.Len != n || s.Cap < n {
				t.Fatalf("row %d: %+v for %d", row, s, n)
			}
			if n > 0 {
				all = append(all, span{s.Start, s.Start + s.Cap})
			}
		}
		slices.SortFunc(all, func(a, b span) int { return int(a.from) - int(b.from) })
		for i := 1; i < len(all); i++ {
			if all[i].from < all[i-1].to {
				t.Fatalf("%v overlap", all)
			}
		}
	})
}

// TestTooLarge: a region beyond what 32-bit memory holds has no layout, and the largest
// columns are named.
func TestTooLarge(t *testing.T) {
	src := NewSource(NewProjection(&wire.Manifest{Reads: wire.ManifestReads{Node: []string{"labels", "images"}}}, nil), &atomic.Uint64{})
	for _, src.room = range []capacities{
		{rows: math.MaxUint32 / 2, overlays: 8, labels: 1}, {rows: 64, labels: math.MaxUint32 / 2}, {rows: 64, labels: 460 << 20, images: 8 << 20},
	} {
		spec := src.Mirror(0).Spec()
		if _, err := wire.NewLayout(spec); err == nil || !strings.HasPrefix(Largest(&spec), "node: ") {
			t.Errorf("got %v; the largest columns are %s", err, Largest(&spec))
		}
	}
}
