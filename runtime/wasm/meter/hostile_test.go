package meter_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/internal/hostile"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// hostileConfig has less depth than the default, since wazero's interpreter has a
// ceiling of 2,000 frames of its own.
func hostileConfig() meter.Config { return meter.Config{MemoryMaxPages: 64, MaxDepth: 1_500} }

// TestHostile: each module of testdata/hostile is stopped, at the same place on both
// engines; what it came to is kept in testdata/hostile.golden. A line ";; fuel: N"
// gives it another amount than 70,000 grains.
func TestHostile(t *testing.T) {
	files, err := filepath.Glob("testdata/hostile/*.wat")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	var out [2]bytes.Buffer
	for i, e := range engines() {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			about, rest, _ := strings.Cut(strings.TrimPrefix(string(text), ";; "), "\n")
			fuel := int64(70_000)
			if line, ok := strings.CutPrefix(rest, ";; fuel: "); ok {
				fmt.Sscan(line, &fuel)
			}
			fmt.Fprintf(&out[i], "%s: %s\n", strings.TrimSuffix(filepath.Base(file), ".wat"), about)
			stopped(t, e, wat.Compile(t, file, ""), fuel, &out[i])
		}
	}
	if out[0].String() != out[1].String() {
		t.Errorf("engines differ:\n%s\n%s", &out[0], &out[1])
	}
	golden.Check(t, "testdata/hostile.golden", out[0].Bytes())
}

// stopped runs a module and writes what became of it.
func stopped(t *testing.T, e engine, module []byte, fuel int64, out *bytes.Buffer) {
	rewritten, info := rewrite(t, module, hostileConfig())
	g, err := newHost(t, e).guest(rewritten, info)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(context.Background())
	g.grant(fuel)
	function := "run"
	if info.Start {
		function = meter.StartExport
	}
	f := g.ExportedFunction(function)
	results, trap := g.call(function, make([]uint64, len(f.Definition().ParamTypes()))...)
	fmt.Fprintf(out, "  %s %s%v: %d of %d grains and %d of %d frames left", g.status(), trap, results, g.left(), fuel, g.depth(), info.MaxDepth)
	if m := g.ExportedMemory("memory"); m != nil {
		view, _ := m.Read(0, m.Size())
		fmt.Fprintf(out, "; %d pages of memory, %d bytes not zero", m.Size()>>16, len(view)-bytes.Count(view, []byte{0}))
	}
	if n := g.ExportedGlobal("g0"); n != nil {
		fmt.Fprintf(out, "; g0 = %d", int32(n.Get()))
	}
	fmt.Fprintln(out)
}

// TestRestGiants: however much code there is without a loop or call, the work that is
// done is bounded by the fuel. Work is counted by the module itself, in a global.
func TestRestGiants(t *testing.T) {
	const fuel = 10_000
	for _, s := range hostile.Giants() {
		t.Run(s.Name, func(t *testing.T) {
			rewritten, info := rewrite(t, wat.Compile(t, s.GiantSource(), ""), meter.Config{})
			for _, e := range engines() {
				g, err := newHost(t, e).guest(rewritten, info)
				if err != nil {
					t.Fatal(err)
				}
				g.grant(fuel)
				_, trap := g.call("run")
				if g.status() != meter.OutOfFuel {
					t.Errorf("%s: %s %s, want out of fuel", e, g.status(), trap)
				}
				if work := 4 * g.ExportedGlobal("g0").Get(); work > fuel+mostWork || work < fuel/128 {
					t.Errorf("%s: %d instructions for %d grains", e, work, fuel)
				}
			}
		})
	}
}

// mostWork is the most work, in simple instructions, that is done before it is paid.
const mostWork = 2 * 256

// TestCallTree: a tree of calls of depth 64, without a loop, is stopped.
func TestCallTree(t *testing.T) {
	m := &mod{exports: map[string]int{"run": 0}}
	const depth = 64
	for i := range depth {
		a := &asm{}
		if i < depth-1 {
			a.opN(0x10, i+1)
			a.opN(0x10, i+1)
		}
		m.funcs = append(m.funcs, fn{body: a.b})
	}
	rewritten, info := rewrite(t, m.bytes(), meter.Config{})
	for _, e := range engines() {
		g, err := newHost(t, e).guest(rewritten, info)
		if err != nil {
			t.Fatal(err)
		}
		g.grant(1_000_000)
		if _, trap := g.call("run"); g.status() != meter.OutOfFuel || g.left() > 128 { // a call and an entry
			t.Errorf("%s: %s %s with %d left", e, g.status(), trap, g.left())
		}
		if used := int(info.MaxDepth) - int(g.depth()); used > depth {
			t.Errorf("%s: %d frames, want at most %d", e, used, depth)
		}
	}
}
