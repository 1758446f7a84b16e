package meter_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/runtime/internal/golden"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// count is four instructions that count in a global, so that they are not left out.
func (a *asm) count() {
	a.opN(0x23, 0)
	a.i64(1)
	a.op(0x7c)
	a.opN(0x24, 0)
}

func (a *asm) block() { a.op(0x02, empty) }
func (a *asm) end()   { a.op(0x0b) }

// leave leaves a block if a number is not 0.
func (a *asm) leave(number, label int) {
	a.i32(int32(number))
	a.opN(0x0d, label)
}

// assign gives a local a value that nobody knows.
func (a *asm) assign(local int) {
	a.opN(0x23, 0)
	a.opN(0x21, local)
}

// bomb is a function of a shape that compilers take long for, of a size n with l
// locals, all of which are used at the end.
type bomb struct {
	locals int
	body   func(a *asm, n, l int)
}

func repeated(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// bombs are the shapes: much control flow, with much that is alive across it.
func bombs() map[string]bomb {
	return map[string]bomb{
		"blocks, one after the other": {1000, func(a *asm, n, _ int) {
			repeated(n, func(int) { a.block(); a.leave(1, 0); a.end() })
		}},
		"blocks that count": {100, func(a *asm, n, _ int) {
			repeated(n, func(int) { a.block(); a.count(); a.leave(1, 0); a.count(); a.end() })
		}},
		"branches out of a block": {100, func(a *asm, n, _ int) {
			a.block()
			repeated(n, func(int) { a.leave(1, 0) })
			a.end()
		}},
		"branches back to a loop": {100, func(a *asm, n, _ int) {
			a.op(0x03, empty)
			repeated(n, func(int) { a.leave(0, 0) })
			a.end()
		}},
		"branches between assignments": {100, func(a *asm, n, l int) {
			a.block()
			repeated(n, func(i int) { a.assign(i % l); a.leave(1, 0) })
			a.end()
		}},
		"ifs that assign": {100, func(a *asm, n, l int) {
			repeated(n, func(i int) { a.i32(1); a.op(0x04, empty); a.assign(i % l); a.end() })
		}},
		"blocks in one another": {100, func(a *asm, n, _ int) {
			repeated(n, func(int) { a.block() })
			a.leave(1, n-1)
			repeated(n, func(int) { a.end() })
		}},
		"ifs in one another": {100, func(a *asm, n, l int) {
			repeated(n, func(int) { a.i32(1); a.op(0x04, empty) })
			repeated(l, a.assign)
			repeated(n, func(int) { a.end() })
		}},
		"loops, one after the other": {100, func(a *asm, n, _ int) {
			repeated(n, func(int) { a.op(0x03, empty); a.leave(0, 0); a.end() })
		}},
		"loops in one another": {100, func(a *asm, n, l int) {
			repeated(n, func(int) { a.op(0x03, empty) })
			repeated(l, a.assign)
			repeated(n, func(int) { a.leave(0, 0); a.end() })
		}},
		"a giant br_table": {0, func(a *asm, n, _ int) {
			a.block()
			a.i32(1)
			a.opN(0x0e, n)
			repeated(n+1, func(int) { a.u32(0) })
			a.end()
		}},
		"many br_tables": {0, func(a *asm, n, _ int) {
			repeated(100, func(int) {
				a.block()
				a.i32(1)
				a.opN(0x0e, n)
				repeated(n+1, func(int) { a.u32(0) })
				a.end()
			})
		}},
		"straight code": {0, func(a *asm, n, _ int) { repeated(n, func(int) { a.count() }) }},
		"calls":         {0, func(a *asm, n, _ int) { repeated(n, func(int) { a.opN(0x10, 0) }) }},
		"operands": {0, func(a *asm, n, _ int) {
			repeated(n, func(int) { a.opN(0x23, 0) })
			repeated(n, func(int) { a.opN(0x24, 0) })
		}},
		"operands across calls": {0, func(a *asm, n, _ int) {
			repeated(200, func(int) { a.opN(0x23, 0) })
			repeated(n, func(int) { a.opN(0x10, 0) })
			repeated(200, func(int) { a.opN(0x24, 0) })
		}},
		"selects": {0, func(a *asm, n, _ int) {
			a.opN(0x23, 0)
			repeated(n, func(int) { a.opN(0x23, 0); a.i32(1); a.op(0x1b) })
			a.opN(0x24, 0)
		}},
	}
}

// module returns the bomb of a size.
func (s bomb) module(n int) []byte {
	a := &asm{}
	s.body(a, n, s.locals)
	repeated(s.locals, func(i int) {
		a.opN(0x20, i)
		a.opN(0x24, 0)
	})
	m := &mod{globals: []byte{tI64}, exports: map[string]int{"run": 0}}
	m.funcs = []fn{{locals: bytes.Repeat([]byte{tI64}, s.locals), body: a.b}}
	return m.bytes()
}

// largest returns the largest size that is taken, and why the next is not.
func (s bomb) largest(t testing.TB) (n int, refusal error) {
	t.Helper()
	low, high := 1, 1<<19 // the one is taken, the other is refused
	for high-low > 1 {
		middle := (low + high) / 2
		if _, _, err := meter.Rewrite(s.module(middle), meter.Config{}); err != nil {
			high, refusal = middle, err
		} else {
			low = middle
		}
	}
	if refusal == nil {
		t.Fatalf("a bomb of size %d is taken", low)
	}
	return low, refusal
}

// TestBombs: each shape is refused beyond a size, by the name of a limit. How large
// it can be is kept in testdata/bombs.golden; BenchmarkBombs tells what compiling that
// takes.
func TestBombs(t *testing.T) {
	var out bytes.Buffer
	for _, name := range sortedKeys(bombs()) {
		s := bombs()[name]
		n, refusal := s.largest(t)
		fmt.Fprintf(&out, "%s: at most %d, %d bytes; then %v\n", name, n, len(s.module(n)), refusal)
	}
	golden.Check(t, "testdata/bombs.golden", out.Bytes())
}

// BenchmarkBombs compiles the largest bomb of each shape that is taken.
func BenchmarkBombs(b *testing.B) {
	for _, name := range sortedKeys(bombs()) {
		b.Run(name, func(b *testing.B) {
			n, _ := bombs()[name].largest(b)
			module, _ := rewrite(b, bombs()[name].module(n), meter.Config{})
			b.ReportAllocs()
			for b.Loop() {
				h := newHost(b, compiler)
				if _, err := h.runtime.CompileModule(context.Background(), module); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(module)), "bytes")
		})
	}
}
