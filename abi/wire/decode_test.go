package wire_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/internal/golden"
)

// load reads a file of vectors, or writes it.
func load[T any](t *testing.T, name string, cases []T) []T {
	t.Helper()
	path := filepath.Join("..", "vectors", name)
	if golden.Rewriting() {
		text, err := json.MarshalIndent(cases, "", "  ")
		if err == nil {
			err = os.WriteFile(path, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -rewrite to create it", err)
	}
	var out []T
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// stringsOnly returns a snapshot with a strings table and nodes.
func stringsOnly(t testing.TB, all []string) *wire.Snapshot {
	t.Helper()
	e := newExample(t, wire.LayoutSpec{Tables: []wire.TableSpec{
		{ID: abi.TableNodes, Capacity: 1},
		{ID: abi.TableStrings, Capacity: 16, Columns: []wire.ColumnSpec{
			{ID: abi.StringBytes, Type: abi.TypeSpan}, {ID: abi.StringBytes + abi.ArenaOf, Type: abi.TypeBytes, Capacity: 256},
		}},
	}})
	e.strings(all...)
	s, err := wire.DecodeSnapshot(e.memory, e.base+e.layout.Header)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDecodeRefuses: each wrong number in a region is an error that names the violated
// sentence.
func TestDecodeRefuses(t *testing.T) {
	at := func(e *example, offset uint32) func(v uint32) {
		return func(v uint32) { copy(e.region()[offset:], le32(v)) }
	}
	for _, c := range []struct {
		name, rule string
		offset     func(e *example) uint32
		value      uint32
	}{
		{"magic", "ABI-4.1", func(e *example) uint32 { return e.layout.Header }, 1},
		{"major", "ABI-4.1", func(e *example) uint32 { return e.layout.Header + 4 }, 2},
		{"tables", "ABI-4.2", func(e *example) uint32 { return e.layout.Header + 36 }, 1 << 30},
		{"directory", "ABI-4.2", func(e *example) uint32 { return e.layout.Header + 40 }, 0xfffffff0},
		{"rows", "ABI-4.2", func(e *example) uint32 { return e.layout.Tables[0].Entry + 4 }, 9},
		{"columns", "ABI-4.3", func(e *example) uint32 { return e.layout.Tables[0].Entry + 20 }, 1 << 28},
		{"column address", "ABI-4.3", func(e *example) uint32 { return e.layout.Tables[0].Columns[0].Entry + 12 }, 65536},
		{"column alignment", "ABI-4.3", func(e *example) uint32 { return e.layout.Tables[0].Columns[0].Entry + 12 }, 0x1004},
		{"column capacity", "ABI-4.3", func(e *example) uint32 { return e.layout.Tables[0].Columns[0].Entry + 16 }, 6},
		{"column length", "ABI-4.3", func(e *example) uint32 { return e.layout.Tables[0].Columns[0].Entry + 20 }, 6},
		{"string span", "ABI-4.8", func(e *example) uint32 { return e.layout.Tables[1].Columns[0].Data + 16 }, 1000},
		{"string id", "ABI-4.6", func(e *example) uint32 { return e.layout.Tables[0].Columns[0].Data }, 4},
		{"call row set", "ABI-3.1", func(e *example) uint32 { return e.layout.Call + 16 }, 65534},
		{"call codes", "ABI-3.1", func(e *example) uint32 { return e.layout.Call + 24 }, 65534},
		{"call zero", "ABI-3.1", func(e *example) uint32 { return e.layout.Call + 60 }, 1},
		{"event", "ABI-3.10", func(e *example) uint32 { return e.layout.Call + 44 }, 1},
		{"directives", "ABI-10", func(e *example) uint32 { return e.layout.Call + 92 }, 257},
		{"directive", "ABI-13.2", func(e *example) uint32 { return e.layout.Call + 92 }, 1},
		{"reason sets", "ABI-10", func(e *example) uint32 { return e.layout.Call + 68 }, 1025},
		{"reason set address", "ABI-3.6", func(e *example) uint32 { return e.layout.Call + 64 }, 65530},
	} {
		e := filterExample(t)
		at(e, c.offset(e))(c.value)
		_, err := readRegion(e.memory, e.base+e.layout.Call)
		if !errors.Is(err, wire.ErrDecode) || !strings.Contains(err.Error(), "("+c.rule+")") {
			t.Errorf("%s: got %v, want %s", c.name, err, c.rule)
		}
	}
}

// FuzzDecodeRegion: for any bytes, the reader does not panic or read beyond the memory.
func FuzzDecodeRegion(f *testing.F) {
	for _, e := range []*example{
		filterExample(f), allExample(f), reserveExample(f), preEnqueueExample(f), queueExample(f), hintExample(f), namespacesExample(f), permitExample(f),
	} {
		f.Add(e.region(), e.base, e.layout.Call)
	}
	f.Fuzz(func(t *testing.T, region []byte, base, call uint32) {
		if len(region) > 8192 {
			return
		}
		memory := make([]byte, min(base, 65536), int(min(base, 65536))+len(region))
		memory = append(memory, region...)
		if c, err := wire.DecodeCall(memory, base+call); err == nil {
			s, err := wire.DecodeSnapshot(memory, c.Header)
			cells := 0
			for i := 0; err == nil && i < len(s.Tables); i++ {
				_, _ = s.Row(s.Tables[i].ID, 0)
				cells += int(s.Tables[i].Rows+s.Tables[i].Overlays) * (1 + len(s.Tables[i].Columns))
			}
			if cells > 10_000 { // columns may overlap, so a small region has millions, which take minutes to print
				return
			}
		}
		if _, err := readRegion(memory, base+call); err != nil && !errors.Is(err, wire.ErrDecode) {
			t.Fatal(err)
		}
	})
}

// FuzzDecodePod: for any bytes, the reader does not panic.
func FuzzDecodePod(f *testing.F) {
	f.Add(podExample())
	s := stringsOnly(f, []string{"a", "b", "c", "d", "e"})
	f.Fuzz(func(t *testing.T, record []byte) {
		p, err := wire.DecodePod(record)
		if err == nil {
			_, err = p.Text(s)
		}
		if err != nil && !errors.Is(err, wire.ErrDecode) {
			t.Fatal(err)
		}
	})
}
