package berth

import (
	"encoding/binary"
	"strings"
	"testing"
)

type nothing struct{ Base }

// TestNativeAlloc: addresses are aligned and do not overlap, and data stays when the memory
// grows.
func TestNativeAlloc(t *testing.T) {
	n := NewNative(&nothing{Load([]byte(`{}`))}, nil)
	first := n.Alloc(100, 64)
	copy(n.Memory()[first:], "kept")
	end := first + 100
	for i := range 20 {
		size := uint32(10_000 * (i + 1))
		at := n.Alloc(size, 64)
		if at == 0 || at%64 != 0 || at < end || uint64(at+size) > uint64(len(n.Memory())) {
			t.Fatalf("alloc %d returned %d, after %d", size, at, end)
		}
		end = at + size
	}
	if string(n.Memory()[first:][:4]) != "kept" {
		t.Error("the memory lost its content")
	}
	if at := n.Alloc(1<<32-1, 64); at != 0 {
		t.Errorf("4 GiB are at %d", at)
	}
}

// TestTableMoves: the reason table moves when it grows, and so does the native memory in the
// middle of a call.
func TestTableMoves(t *testing.T) {
	p := &nothing{Load([]byte(`{}`))}
	n := NewNative(p, nil)
	c := p.c
	c.callAt = n.Alloc(128, 64)
	for i := range 70 {
		p.Reason(strings.Repeat(string(rune('a'+i%26)), 1+i%3*400) + string(rune('A'+i)))
		c.reasons.used = true
		c.reasons.publish(c)
		mem := n.Memory()
		u32 := func(at uint32) uint32 { return binary.LittleEndian.Uint32(mem[at:]) }
		if got := u32(c.callAt + 68); got != uint32(len(c.reasons.sets)) {
			t.Fatalf("%d sets published, there are %d", got, len(c.reasons.sets))
		}
		for k, set := range c.reasons.sets {
			text := u32(u32(c.callAt+64) + 8*uint32(k))
			if got := string(mem[u32(text):][:u32(text+4)]); got != set[0] {
				t.Fatalf("set %d is %q, want %q", k+1, got, set[0])
			}
		}
	}
}

// TestConstants: ids are those of the epoch, and new strings are found.
func TestConstants(t *testing.T) {
	cols := &columns{header: &header{epoch: 1}, strings: &tableEntry{rows: 1}}
	put := func(texts ...string) {
		for _, s := range texts {
			if len(cols.texts) == 0 {
				cols.texts = append(cols.texts, span{})
			}
			cols.texts = append(cols.texts, span{uint32(len(cols.textBytes)), uint32(len(s))})
			cols.textBytes = append(cols.textBytes, s...)
			cols.strings.rows = uint32(len(cols.texts))
		}
	}
	var cs constants
	a, empty, long := cs.add("a"), cs.add(""), cs.add(strings.Repeat("x", 100))
	check := func(when string, want ...ID) {
		t.Helper()
		cs.resolve(cols)
		for i, c := range []Const{a, empty, long} {
			if c.ID() != want[i] || c.Is(want[i]) != (want[i] != Absent) {
				t.Errorf("%s: %q is %d, want %d", when, c.Text(), c.ID(), want[i])
			}
		}
	}
	put("b", "a")
	check("first call", 2, 0, 0)
	put("", strings.Repeat("x", 99))
	check("two more", 2, 3, 0)
	put(strings.Repeat("x", 100))
	check("one more", 2, 3, 5)
	cols.texts, cols.textBytes, cols.header.epoch = nil, nil, 2
	put("a", "c")
	check("a new epoch", 1, 0, 0)
	c := cs.add("c")
	cs.resolve(cols)
	if c.ID() != 2 {
		t.Errorf("a constant that came late is %d, want 2", c.ID())
	}
}
