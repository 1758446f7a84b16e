package meter_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// everything is a module with one of nearly everything, names included: of
// functions, of a local and of a label.
func everything(t testing.TB) []byte {
	return wat.Compile(t, `(module
	  (import "env" "log" (func $log (param i32) (result i32)))
	  (memory (export "memory") 1)
	  (table (export "table") 2 50 funcref)
	  (table 1 externref)
	  (global (export "g0") (mut i32) (i32.const 5))
	  (global i64 (i64.const 6))
	  (global (mut f64) (f64.const 7))
	  (global (mut funcref) (ref.func $boom))
	  (export "log" (func $log))
	  (func $boom (export "boom") (param i32) (if (local.get 0) (then (call $spin))) unreachable)
	  (func $spin (loop $again (br $again)))
	  (func $first (drop (call $log (i32.const 77))))
	  (start $first)
	  (elem (i32.const 0) $boom $spin)
	  (func (export "change") (table.set 0 (i32.const 0) (ref.null func)) (data.drop 1))
	  (data (i32.const 0) "active")
	  (data "passive")
	  (@custom "name" "\00\02\01m\01\12\03\00\03log\01\04boom\02\04spin\02\06\01\01\01\00\01p\03\06\01\02\01\00\01l\63\01x")
	  (@custom "berth.test" "kept"))`, "")
}

func TestInfo(t *testing.T) {
	module := everything(t)
	out, info := rewrite(t, module, meter.Config{MemoryMaxPages: 70, TableMaxElements: 100, Slice: 20, MaxDepth: 30})
	want := &meter.Info{
		SizeBefore: len(module), SizeAfter: len(out), Functions: 4, Loops: 1, Checks: 5, Added: 1, Slice: 20, MaxDepth: 30,
		Memory:        wire.Limits{Min: 1, Max: 70, HasMax: true},
		Tables:        []wire.Table{{Elem: wire.ValFuncref, Limits: wire.Limits{Min: 2, Max: 50, HasMax: true}}, {Elem: wire.ValExternref, Limits: wire.Limits{Min: 1, Max: 49, HasMax: true}}},
		References:    2,
		Start:         true,
		Globals:       []string{"berth.meter.global.0", "berth.meter.global.2"},
		ChangesTables: true, DropsSegments: true, OtherGlobals: true,
	}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info.Resettable() {
		t.Error("resettable, though tables can change")
	}
	// What is rewritten has the reserved names, so it cannot be rewritten again.
	if _, _, err := meter.Rewrite(out, meter.Config{}); err == nil || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("rewritten twice: %v", err)
	}
	if again, _ := rewrite(t, module, meter.Config{MemoryMaxPages: 70, TableMaxElements: 100, Slice: 20, MaxDepth: 30}); !slices.Equal(again, out) {
		t.Error("rewritten again, the module is another")
	}
}

// TestChanges: what makes an instance not resettable is seen.
func TestChanges(t *testing.T) {
	for body, what := range map[string]string{
		"(table.set 0 (i32.const 0) (ref.null func))":                "tables",
		"(drop (table.grow 0 (ref.null func) (i32.const 0)))":        "tables",
		"(table.fill 0 (i32.const 0) (ref.null func) (i32.const 0))": "tables",
		"(table.copy 0 0 (i32.const 0) (i32.const 0) (i32.const 0))": "tables",
		"(table.init 0 0 (i32.const 0) (i32.const 0) (i32.const 0))": "tables",
		"(elem.drop 0)": "segments",
		"(data.drop 0)": "segments",
		"(memory.init 0 (i32.const 0) (i32.const 0) (i32.const 0)) (drop (memory.grow (i32.const 1)))": "",
		"(drop (table.get 0 (i32.const 0))) (drop (table.size 0))":                                     "",
	} {
		_, info := rewrite(t, wat.Compile(t, `(module (memory 1) (table 1 funcref) (data "x") (elem func $f)
		  (global (mut i64) (i64.const 0)) (func $f `+body+`))`, ""), meter.Config{})
		got := ""
		switch {
		case info.ChangesTables && !info.DropsSegments:
			got = "tables"
		case info.DropsSegments && !info.ChangesTables:
			got = "segments"
		}
		if got != what || info.Resettable() != (what == "") {
			t.Errorf("%s: changes %q, resettable %t; want %q", body, got, info.Resettable(), what)
		}
	}
}

// TestSections: custom sections stay where they were and as they were, those that
// are not there are added, and what the module exports is the same as before, in
// the same order, with the names of this package behind it.
func TestSections(t *testing.T) {
	custom := []byte{0, 6, 4, 't', 'e', 's', 't', 'x'}
	module := everything(t)
	parsed, err := wire.ReadModule(module)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(parsed.Sections) - 1; i >= 0; i-- { // one behind each section
		end := parsed.Sections[i].Offset + parsed.Sections[i].Size
		module = slices.Insert(module, end, custom...)
	}
	before, after := sections(t, module), sections(t, func() []byte { out, _ := rewrite(t, module, meter.Config{}); return out }())
	before = slices.DeleteFunc(before, func(s string) bool { return s == "start" })
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	out, _ := rewrite(t, []byte("\x00asm\x01\x00\x00\x00"), meter.Config{})
	if diff := cmp.Diff([]string{"type", "import", "function", "global", "export", "code"}, sections(t, out)); diff != "" {
		t.Errorf("of an empty module (-want +got):\n%s", diff)
	}
}

// sections lists the sections of a module; of custom ones name and payload, but
// for the payload of the name section.
func sections(t *testing.T, module []byte) []string {
	m, err := wire.ReadModule(module)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	customs := m.Customs
	for _, s := range m.Sections {
		line := wire.SectionName(s.ID)
		if s.ID == 0 {
			if line += " " + s.Name; s.Name != "name" {
				line += " " + string(customs[0].Payload)
			}
			customs = customs[1:]
		}
		out = append(out, line)
	}
	return out
}

// TestNames: traces name the functions of the module, and those that were added.
func TestNames(t *testing.T) {
	out, info := rewrite(t, everything(t), meter.Config{})
	h := newHost(t, interpreter)
	g, err := h.guest(out, info)
	if err != nil {
		t.Fatal(err)
	}
	for argument, want := range map[uint64][]string{
		0: {"m.boom("},
		1: {"m.berth.meter.refill(", "m.spin(", "m.boom("},
	} {
		g.grant(100)
		_, err := g.ExportedFunction("boom").Call(context.Background(), argument)
		if err == nil {
			t.Fatal("no trap")
		}
		trace := err.Error()
		for _, name := range want {
			at := strings.Index(trace, name)
			if at < 0 {
				t.Fatalf("no %s in\n%s", name, err)
			}
			trace = trace[at:]
		}
	}
	m, err := wire.ReadModule(out)
	if err != nil {
		t.Fatal(err)
	}
	names := string(m.Custom("name")[0])
	const functions = "\x03log\x01\x11berth.meter.yield\x02\x04boom\x03\x04spin\x06\x12berth.meter.refill\x07\x11berth.meter.enter"
	if !strings.Contains(names, functions) {
		t.Errorf("names are %q, want %q in them", names, functions)
	}
	for what, gone := range map[string]string{
		"of a local": "\x02\x06\x01\x02\x01\x00\x01p", "of a label": "\x03\x06\x01\x03\x01\x00\x01l", "that nobody knows": "\x63\x01x",
	} {
		if strings.Contains(names, gone) {
			t.Errorf("names are %q, with one %s", names, what)
		}
	}
}

// TestLongNames: of names of any length and number a part is kept, in printable text, and the functions that have lost
// theirs keep their numbers.
func TestLongNames(t *testing.T) {
	name := func(text string) []byte { return append(binary.AppendUvarint(nil, uint64(len(text))), text...) }
	long := strings.Repeat("\x1b[31mé\n", 1<<20)
	const functions = 50_000
	var text strings.Builder
	text.WriteString("(module ")
	for range functions - 1 {
		text.WriteString("(func)")
	}
	text.WriteString(`(func (export "boom") unreachable))`)
	bare := wat.Compile(t, text.String(), "")
	for what, nameOf := range map[string]func(i int) string{
		"one of megabytes": func(i int) string {
			if i == functions-1 {
				return long
			}
			return ""
		},
		"many": func(i int) string { return strings.Repeat(strconv.Itoa(i%10), 200) },
	} {
		list := binary.AppendUvarint(nil, functions)
		for i := range functions {
			list = append(binary.AppendUvarint(list, uint64(i)), name(nameOf(i))...)
		}
		section := append(name("name"), 0)
		section = append(binary.AppendUvarint(section, uint64(len(name(long)))), name(long)...)
		section = append(section, 1)
		section = append(binary.AppendUvarint(section, uint64(len(list))), list...)
		module := append(slices.Clone(bare), 0)
		module = append(binary.AppendUvarint(module, uint64(len(section))), section...)
		out, info := rewrite(t, module, meter.Config{Limits: meter.Limits{Customs: 64 << 20}})
		if most := len(bare) + 6<<20; len(out) > most {
			t.Errorf("%s: %d bytes became %d, at most %d are allowed", what, len(module), len(out), most)
		}
		h := newHost(t, interpreter)
		g, err := h.guest(out, info)
		if err != nil {
			t.Fatal(err)
		}
		g.grant(100)
		_, err = g.ExportedFunction("boom").Call(context.Background())
		if trace := err.Error(); len(trace) > 1024 || strings.Contains(trace, "\x1b") || what == "many" && !strings.Contains(trace, ".$50000(") {
			t.Errorf("%s: a trace of %d bytes: %.2000q", what, len(trace), trace)
		}
		stripped, err := meter.WithoutNames(module)
		if err != nil || !bytes.Equal(stripped, bare) {
			t.Errorf("%s: without names it has %d bytes, want %d: %v", what, len(stripped), len(bare), err)
		}
	}
}

// TestStart: the start function does not run when an instance is made, and is the
// same function when the host calls it.
func TestStart(t *testing.T) {
	out, info := rewrite(t, everything(t), meter.Config{})
	h := newHost(t, compiler)
	g, err := h.guest(out, info)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.log) > 0 {
		t.Errorf("the start function ran: %v", h.log)
	}
	g.grant(1000)
	if _, trap := g.call(meter.StartExport); trap != "" || !slices.Equal(h.log, []uint64{77}) {
		t.Errorf("start: %s, logged %v", trap, h.log)
	}
	imported := wat.Compile(t, `(module (import "wasi_snapshot_preview1" "sched_yield" (func (result i32)))
	  (import "env" "start" (func $s)) (start $s))`, "")
	out, info = rewrite(t, imported, meter.Config{})
	m, err := wire.ReadModule(out)
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := m.Export(meter.StartExport); !ok || e.Index != 1 || !info.Start {
		t.Errorf("an imported start function is exported as %+v", e)
	}
}

// TestGlobals: the mutable globals of a module can be read and set by the host
// under the names of Info, to keep and restore an instance.
func TestGlobals(t *testing.T) {
	out, info := rewrite(t, everything(t), meter.Config{})
	g, err := newHost(t, compiler).guest(out, info)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{5, 0x401c000000000000} {
		if got := narrow(g.ExportedGlobal(info.Globals[i]).Type(), g.ExportedGlobal(info.Globals[i]).Get()); got != want {
			t.Errorf("%s is %x, want %x", info.Globals[i], got, want)
		}
	}
	g.set(info.Globals[0], 9)
	if got := uint32(g.ExportedGlobal("g0").Get()); got != 9 {
		t.Errorf("g0 is %d after it was set to 9 under its other name", got)
	}
}

// TestMaxima: memory and tables get the maxima of Config, unless theirs are smaller.
func TestMaxima(t *testing.T) {
	for source, want := range map[string][2]uint32{
		`(module (memory 1) (table 1 funcref))`:            {20, 30},
		`(module (memory 1 1000) (table 1 1000 funcref))`:  {20, 30},
		`(module (memory 1 10) (table 1 10 funcref))`:      {10, 10},
		`(module (memory 20 65536) (table 30 30 funcref))`: {20, 30},
	} {
		out, info := rewrite(t, wat.Compile(t, source, ""), meter.Config{MemoryMaxPages: 20, TableMaxElements: 30})
		m, err := wire.ReadModule(out)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]uint32{m.Memories[0].Max, m.Tables[0].Max}; got != want || info.Memory.Max != want[0] || info.Tables[0].Max != want[1] {
			t.Errorf("%s: maxima %v, want %v", source, got, want)
		}
	}
}
