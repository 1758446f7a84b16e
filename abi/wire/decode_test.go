package wire_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// rewrite makes tests of this package write the vectors and examples that the
// writer produces: read them before committing.
var rewrite = flag.Bool("rewrite", false, "write abi/vectors/{regions,pods}.json and abi/testdata/example-*.txt anew")

// regionVector is a case of abi/vectors/regions.json.
type regionVector struct {
	Name string `json:"name"`
	// Memory is pieces of a linear memory, by address; the rest is zero.
	Memory []memoryPiece `json:"memory"`
	Size   uint32        `json:"size"`
	Call   uint32        `json:"call"`
	Want   regionWant    `json:"want"`
}

type memoryPiece struct {
	Address uint32 `json:"address"`
	Hex     string `json:"hex"`
}

type regionWant struct {
	Call       callWant    `json:"call"`
	Epoch      uint64      `json:"epoch"`
	Generation uint64      `json:"generation"`
	Seed       uint64      `json:"seed"`
	State      uint32      `json:"state"`
	Tables     []tableWant `json:"tables"`
}

type callWant struct {
	Point      uint32     `json:"point"`
	N          uint32     `json:"n_rows"`
	Rows       []uint32   `json:"rows"`
	Flags      uint32     `json:"flags"`
	Codes      []int      `json:"codes"`
	Reasons    []uint16   `json:"reasons"`
	Scores     []int64    `json:"scores"`
	ReasonSets [][]string `json:"reason_sets"`
}

type tableWant struct {
	ID       uint32 `json:"id"`
	Rows     uint32 `json:"n_rows"`
	Capacity uint32 `json:"row_capacity"`
	Base     uint32 `json:"row_base"`
	Overlays uint32 `json:"overlay_capacity"`
	// Columns is "id.arg type capacity length".
	Columns []string `json:"columns"`
	// Cells is by row number, then by "id.arg".
	Cells map[string]map[string]string `json:"cells"`
}

// podVector is a case of abi/vectors/pods.json.
type podVector struct {
	Name string `json:"name"`
	Hex  string `json:"hex"`
	// Strings has the string of id i+1 at i.
	Strings []string          `json:"strings"`
	Want    map[string]string `json:"want"`
}

// readRegion reads a memory with the reader.
func readRegion(memory wire.Memory, call uint32) (out regionWant, err error) {
	c, err := wire.DecodeCall(memory, call)
	if err != nil {
		return out, err
	}
	s, err := wire.DecodeSnapshot(memory, c.Header)
	if err != nil {
		return out, err
	}
	out = regionWant{Epoch: s.Epoch, Generation: s.Generation, Seed: s.Seed, State: s.State}
	out.Call = callWant{Point: c.Point, N: c.N, Rows: c.Rows, Flags: c.Flags, Reasons: c.Reasons, Scores: c.Scores, ReasonSets: c.ReasonSets}
	for _, code := range c.Codes {
		out.Call.Codes = append(out.Call.Codes, int(code))
	}
	for _, t := range s.Tables {
		w := tableWant{ID: uint32(t.ID), Rows: t.Rows, Capacity: t.Capacity, Base: t.Base, Overlays: t.Overlays, Cells: map[string]map[string]string{}}
		for _, c := range t.Columns {
			w.Columns = append(w.Columns, fmt.Sprintf("%d.%d type %d, %d of %d", c.ID, c.Arg, c.Type, c.Length, c.Capacity))
		}
		for row := range t.Capacity + t.Overlays {
			if !t.HasRow(row) {
				continue
			}
			cells, err := s.Row(t.ID, row)
			if err != nil {
				return out, err
			}
			w.Cells[fmt.Sprint(row)] = cells
		}
		out.Tables = append(out.Tables, w)
	}
	return out, nil
}

// pieces are the parts of a memory that are not zero, in lines of 16 bytes.
func pieces(memory []byte) (out []memoryPiece) {
	for at := 0; at < len(memory); at += 16 {
		line := memory[at : at+16]
		if strings.Trim(string(line), "\x00") == "" {
			continue
		}
		if n := len(out); n > 0 && int(out[n-1].Address)+len(out[n-1].Hex)/2 == at && len(out[n-1].Hex) < 128 {
			out[n-1].Hex += hex.EncodeToString(line)
			continue
		}
		out = append(out, memoryPiece{Address: uint32(at), Hex: hex.EncodeToString(line)})
	}
	return out
}

func (v *regionVector) bytes(t *testing.T) wire.Memory {
	t.Helper()
	memory := make([]byte, v.Size)
	for _, p := range v.Memory {
		data, err := hex.DecodeString(p.Hex)
		if err != nil {
			t.Fatal(err)
		}
		copy(memory[p.Address:], data)
	}
	return memory
}

// load reads a file of vectors, or writes it.
func load[T any](t *testing.T, name string, cases []T) []T {
	t.Helper()
	path := filepath.Join("..", "vectors", name)
	if *rewrite {
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

// TestRegionVectors: ABI-3 and ABI-4. The writer's bytes are those of the vectors,
// and the reader, which shares nothing with it, finds in them what is written there.
func TestRegionVectors(t *testing.T) {
	var cases []regionVector
	for _, e := range []struct {
		name string
		*example
	}{{"a filter call (section 11)", filterExample(t)}, {"every type, a row set, an overlay row", allExample(t)}} {
		v := regionVector{Name: e.name, Memory: pieces(e.memory), Size: uint32(len(e.memory)), Call: e.base + e.layout.Call}
		var err error
		if v.Want, err = readRegion(e.memory, v.Call); err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		cases = append(cases, v)
	}
	for i, v := range load(t, "regions.json", cases) {
		got, err := readRegion(v.bytes(t), v.Call)
		if diff := cmp.Diff(v.Want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", v.Name, err, diff)
		}
		if i >= len(cases) {
			t.Errorf("%s: nobody writes it", v.Name)
		} else if diff := cmp.Diff(v.Memory, cases[i].Memory); diff != "" {
			t.Errorf("%s: the writer writes something else (-want +got):\n%s", v.Name, diff)
		}
	}
}

// TestPodVectors: ABI-6.
func TestPodVectors(t *testing.T) {
	strings := []string{"team-a", "app", "web", "tier", "front", "gpu", "true", "0.0.0.0", "zone", ""}
	var b wire.PodBuilder
	fields := func(add func()) string { b.Reset(); add(); return hex.EncodeToString(b.Bytes()) }
	cases := []podVector{
		{Name: "no fields", Hex: fields(func() {})},
		{Name: "namespace, requests, two labels (section 12)", Hex: hex.EncodeToString(podExample())},
		{Name: "everything", Hex: fields(func() {
			b.Field(abi.PodName, 0)
			b.Text("web-1")
			b.Field(abi.PodNodeSelector, 0)
			b.Requirement(wire.Requirement{Key: 9, Op: wire.OpIn, First: 0, Count: 1})
			b.Field(abi.PodTolerations, 0)
			b.Toleration(wire.Toleration{Key: 6, Value: 7, Operator: wire.Equal, Effect: wire.NoSchedule, Seconds: -1})
			b.Toleration(wire.Toleration{Operator: wire.Exists, Seconds: 300})
			b.Field(abi.PodHostPorts, 0)
			b.Port(wire.Port{IP: 8, Port: 8080, Protocol: wire.TCP})
			b.Field(abi.PodImages, 0)
			b.ID(3)
			b.Field(abi.IncomingNamespace, 0)
			b.ID(1)
			b.Field(abi.IncomingPriority, 0)
			b.I64(-7)
			b.Field(abi.IncomingRequests, 0)
			b.I64(1 << 40)
			b.Field(abi.IncomingLabels, 0)
			b.Field(abi.IncomingAnnotations, 0)
			b.ID(0)
			b.Field(abi.IncomingAnnotations, 1)
			b.ID(10)
			b.Field(abi.IncomingOwner, 0)
			b.ID(0)
			b.Field(abi.PodRequiredTerms, 0)
			b.Term(wire.Term{First: 0, Count: 2})
			b.Field(abi.PodPreferredTerms, 0)
			b.Term(wire.Term{First: 2, Count: 0, Weight: 10, Flags: wire.TermHasFields})
			b.Field(abi.PodRequirements, 0)
			b.Requirement(wire.Requirement{Key: 9, Op: wire.OpNotIn, First: 0, Count: 2})
			b.Requirement(wire.Requirement{Key: 4, Op: wire.OpGt, First: 2, Number: -3})
			b.Field(abi.PodRequirementIDs, 0)
			b.ID(5)
			b.ID(10)
			b.Field(abi.IncomingNonZero, 0)
			b.I64(100)
			b.I64(200 << 20)
		})},
	}
	read := func(v *podVector) (map[string]string, error) {
		record, err := hex.DecodeString(v.Hex)
		if err != nil {
			return nil, err
		}
		p, err := wire.DecodePod(record)
		if err != nil {
			return nil, err
		}
		return p.Text(stringsOnly(t, v.Strings))
	}
	for i := range cases {
		cases[i].Strings = strings
		var err error
		if cases[i].Want, err = read(&cases[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range load(t, "pods.json", cases) {
		got, err := read(&v)
		if diff := cmp.Diff(v.Want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", v.Name, err, diff)
		}
		if i >= len(cases) || v.Hex != cases[i].Hex {
			t.Errorf("%s: the writer writes something else", v.Name)
		}
	}
}

// stringsOnly is a snapshot with a strings table and nodes.
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

// TestDecodeRefuses: each number of a region that is out of place is an error that
// names the sentence it breaks.
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

// FuzzDecodeRegion: no bytes make the reader panic or read beyond the memory.
func FuzzDecodeRegion(f *testing.F) {
	for _, e := range []*example{filterExample(f), allExample(f)} {
		f.Add(e.region(), e.base, e.layout.Call)
	}
	f.Fuzz(func(t *testing.T, region []byte, base, call uint32) {
		if len(region) > 8192 {
			return
		}
		memory := make([]byte, min(base, 65536), int(min(base, 65536))+len(region))
		memory = append(memory, region...)
		if _, err := readRegion(memory, base+call); err != nil && !errors.Is(err, wire.ErrDecode) {
			t.Fatal(err)
		}
		if s, err := wire.DecodeSnapshot(memory, base+call); err == nil {
			for _, table := range s.Tables {
				_, _ = s.Row(table.ID, 0)
			}
		}
	})
}

// FuzzDecodePod: no bytes make the reader panic.
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
