package wasm

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi/wire"
)

// TestShardRows: the shards of a plugin hold every row once, in ascending order,
// and count what they hold.
func TestShardRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Plugin{source: source{shardCount: rapid.IntRange(1, 9).Draw(t, "shards")}}
		n := uint32(rapid.OneOf(rapid.IntRange(0, 20*blockRows), rapid.Map(rapid.IntRange(0, 20), func(i int) int {
			return max(0, i*blockRows+i%3-1)
		})).Draw(t, "rows"))
		held := uint32(0)
		for index := range p.shardCount {
			s := &shard{plug: p, src: &p.source, index: index}
			count := s.count(n)
			held += count
			last := -1
			for local := range count {
				row := s.host(local)
				if row >= n || int(row) <= last || !s.holds(row) || s.local(row) != local {
					t.Fatalf("shard %d: local row %d is host row %d, and back %d; the last was %d", index, local, row, s.local(row), last)
				}
				last = int(row)
			}
			if count < n && s.host(count) < n {
				t.Fatalf("shard %d holds more than %d rows of %d", index, count, n)
			}
		}
		if held != n {
			t.Fatalf("%d rows of %d are held", held, n)
		}
	})
}

// TestRoomForRows: what is measured has room for the rows of the fullest shard,
// and for half as many again.
func TestRoomForRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 100000).Draw(t, "rows")
		p := &Plugin{sharded: rapid.Bool().Draw(t, "sharded"), config: Config{Shards: rapid.IntRange(0, 16).Draw(t, "shards")}}
		p.shardCount = p.split(n)
		if got, want := p.rowsEach(n), (&shard{plug: p, src: &p.source}).count(uint32(n+n/2)); got < want {
			t.Fatalf("%d shards of %d rows have room for %d, not %d", p.shardCount, n, got, want)
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
	rapid.Check(t, func(t *rapid.T) {
		a := &arena{}
		const limit = 4096
		lens := map[uint32]uint32{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			row, n := rapid.Uint32Range(0, 8).Draw(t, "row"), rapid.Uint32Range(0, 200).Draw(t, "n")
			top := a.top
			start, err := a.place(row, n, limit)
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

// TestNormalize: whatever a guest answers, scores end in range and keep their
// order; the best is 100 unless all are the same.
func TestNormalize(t *testing.T) {
	extreme := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, math.MinInt64 + 1, 0, 100}))
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(extreme, 0, 6).Draw(t, "scores")
		how := rapid.SampledFrom([]string{wire.NormalizeMax, wire.NormalizeReverse, wire.NormalizeMinMax}).Draw(t, "how")
		got := slices.Clone(raw)
		normalize(how, got)
		for i, s := range got {
			if s < 0 || s > 100 {
				t.Fatalf("%s of %v is %v", how, raw, got)
			}
			for j := range got[:i] {
				less := raw[i] < raw[j] && got[i] > got[j] || raw[i] > raw[j] && got[i] < got[j]
				if how == wire.NormalizeReverse {
					less = raw[i] < raw[j] && got[i] < got[j] || raw[i] > raw[j] && got[i] > got[j]
				}
				if less {
					t.Fatalf("%s of %v is %v", how, raw, got)
				}
			}
		}
		if len(raw) == 0 {
			return
		}
		lowest, highest := slices.Min(raw), slices.Max(raw)
		best, worst := slices.Max(got), slices.Min(got)
		switch how {
		case wire.NormalizeMinMax:
			if lowest != highest && (best != 100 || worst != 0) || lowest == highest && best != 0 {
				t.Fatalf("minmax of %v is %v", raw, got)
			}
		case wire.NormalizeMax:
			if highest > 0 && best != 100 || highest <= 0 && best != 0 {
				t.Fatalf("max of %v is %v", raw, got)
			}
		case wire.NormalizeReverse:
			if highest > 0 && worst != 0 || highest <= 0 && worst != 100 {
				t.Fatalf("reverse of %v is %v", raw, got)
			}
		}
	})
}

// TestState: the limits of ABI-10.
func TestState(t *testing.T) {
	s := &guestState{}
	long := string(make([]byte, 129))
	if s.set(long, nil) || !s.set(long[:128], nil) {
		t.Error("a key has 128 bytes at most")
	}
	if s.set("a", make([]byte, 65537)) || !s.set("a", make([]byte, 65536)) {
		t.Error("a value has 65,536 bytes at most")
	}
	for i := range 3 {
		s.set(string(rune('b'+i)), make([]byte, 65536))
	}
	if s.size > 262144 {
		t.Errorf("the state has %d bytes", s.size)
	}
	if !s.set("a", []byte("short")) || s.set("e", make([]byte, 65536)) && s.size > 262144 {
		t.Error("a value may be replaced, and its room is free again")
	}
	many := &guestState{}
	for i := range 64 {
		if !many.set(string(rune('A'+i)), []byte{1}) {
			t.Fatalf("key %d is refused", i)
		}
	}
	if many.set("one more", nil) || !many.set("A", []byte{2}) {
		t.Error("64 keys at most, and known ones may be set again")
	}
	clone := many.Clone().(*guestState)
	clone.set("A", []byte{3})
	if many.values["A"][0] != 2 || clone.values["A"][0] != 3 {
		t.Error("a clone shares its values with the original")
	}
}

// TestTail: what was written last is kept, lines of the guest's log apart from
// pieces of its output.
func TestTail(t *testing.T) {
	var e Env
	e.Log(1, "one")
	e.Log(1, "two")
	if got := e.log.String(); got != "one\ntwo" {
		t.Errorf("got %q", got)
	}
	for _, piece := range []string{"pa", "nic: ", "x\n"} {
		_, _ = e.log.Write([]byte(piece))
	}
	e.Log(1, "three")
	if got := e.log.String(); got != "one\ntwo\npanic: x\nthree" {
		t.Errorf("got %q", got)
	}
	_, _ = e.log.Write(make([]byte, 1<<20))
	if len(e.log.data) > tailSize || cap(e.log.data) > 4*tailSize {
		t.Errorf("%d bytes are kept in %d", len(e.log.data), cap(e.log.data))
	}
}

// TestTooLarge: a region beyond what 32-bit memory holds is a clear fault.
func TestTooLarge(t *testing.T) {
	for _, room := range []capacities{
		{rows: math.MaxUint32 / 2, overlays: 8, labels: 1}, {rows: 64, labels: math.MaxUint32 / 2}, {rows: 64, labels: 460 << 20, images: 8 << 20},
	} {
		p := &Plugin{config: Config{Name: "big"}, source: source{shardCount: 1, room: room}}
		p.projection = newProjection(&wire.ManifestReads{Node: []string{"labels", "images"}}, nil)
		err := (&shard{plug: p, src: &p.source}).make(t.Context())
		f, ok := AsFault(err)
		if !ok || f.Kind != NoMemory || !strings.Contains(f.Detail, "declare fewer columns; the largest are node: ") {
			t.Errorf("got %v", err)
		}
	}
}
