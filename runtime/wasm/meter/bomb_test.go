package meter_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/internal/hostile"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// bomb returns the module of a shape in a size.
func bomb(t testing.TB, s hostile.Shape, n int) []byte { return wat.Compile(t, s.Source(n), "") }

// largest returns the largest size that is taken, and why the next is not. known is what it was.
func largest(t testing.TB, s hostile.Shape, known int) (n int, refusal error) {
	t.Helper()
	taken := func(n int) bool {
		_, _, err := meter.Rewrite(bomb(t, s, n), meter.Config{})
		if err != nil {
			refusal = err
		}
		return err == nil
	}
	low, high := 1, 2 // the one is taken, the other is refused
	if known > 0 && taken(known) {
		low, high = known, known+1
	}
	for taken(high) {
		if low, high = high, 2*high; high > 1<<19 {
			t.Fatalf("%s of size %d is taken", s.Name, low)
		}
	}
	for high-low > 1 {
		if middle := (low + high) / 2; taken(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, refusal
}

func largestBombs(t testing.TB) map[string]int {
	t.Helper()
	known, err := hostile.LargestBombs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// TestRestBombs: each shape is refused beyond a size, by the name of a limit. How large
// it can be is kept in testdata/bombs.golden; BenchmarkBombs tells what compiling that
// takes.
func TestRestBombs(t *testing.T) {
	var out bytes.Buffer
	known := largestBombs(t)
	for _, s := range hostile.Bombs() {
		n, refusal := largest(t, s, known[s.Name])
		fmt.Fprintf(&out, "%s: at most %d, %d bytes; then %v\n", s.Name, n, len(bomb(t, s, n)), refusal)
	}
	golden.Check(t, "testdata/bombs.golden", out.Bytes())
}

// BenchmarkBombs compiles the largest bomb of each shape that is taken.
func BenchmarkBombs(b *testing.B) {
	known := largestBombs(b)
	for _, s := range hostile.Bombs() {
		b.Run(s.Name, func(b *testing.B) {
			n, _ := largest(b, s, known[s.Name])
			module, _ := rewrite(b, bomb(b, s, n), meter.Config{})
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
