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
	p := &Plugin{config: Config{Name: "big"}}
	p.projection = mirror.NewProjection(&wire.ManifestReads{Node: []string{"labels", "images"}}, nil)
	p.source.Source = mirror.NewSource(p.projection, &p.written)
	p.source.RoomForBatch(1, math.MaxUint32, false)
	err := (&shard{plug: p, src: &p.source, Mirror: p.source.Mirror(0)}).make(t.Context())
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.NoMemory || !strings.Contains(f.Detail, "declare fewer columns; the largest are node: ") {
		t.Errorf("got %v", err)
	}
}
