package wasm

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/mirror"
)

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

// TestTooLarge: a region beyond what 32-bit memory holds is a clear fault.
func TestTooLarge(t *testing.T) {
	c := &core{}
	c.projection = mirror.NewProjection(&wire.ManifestReads{Node: []string{"labels", "images"}}, nil)
	src := c.newSource()
	src.RoomForBatch(1, math.MaxUint32, false)
	err := (&shard{core: c, src: &src, Mirror: src.Mirror(0)}).make(t.Context())
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.NoMemory || !strings.Contains(f.Detail, "declare fewer columns; the largest are node: ") {
		t.Errorf("got %v", err)
	}
}
