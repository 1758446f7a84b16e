package meter_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// TestRandomPrograms: rewritten, a program gives the same results, traps, memory,
// globals and calls of the host on both engines, with the same fuel, whatever the
// size of slices; and, unless fuel or depth ended it, the same as the original.
func TestRandomPrograms(t *testing.T) {
	ended := map[meter.Status]int{}
	rapid.Check(t, func(rt *rapid.T) { ended[checkProgram(rt)]++ })
	t.Logf("programs that ended: %v", ended)
}

func FuzzPrograms(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(rt *rapid.T) { checkProgram(rt) }))
}

func checkProgram(rt *rapid.T) meter.Status {
	p := generate(rt)
	c := meter.Config{
		Slice:            uint32(rapid.IntRange(1, 100).Draw(rt, "slice")),
		MaxDepth:         uint32(rapid.SampledFrom([]int{20, 200}).Draw(rt, "depth")),
		TableMaxElements: 1 << 20,
	}
	fuel := rapid.SampledFrom([]int64{100, 5_000, 100_000}).Draw(rt, "fuel")
	first := runProgram(rt, compiler, p, &c, fuel)
	same := func(what string, other *outcome, fuel bool) {
		if err := first.differs(other, fuel); err != nil {
			rt.Fatalf("%s: %v", what, err)
		}
	}
	same("interpreted", runProgram(rt, interpreter, p, &c, fuel), true)
	large := c
	large.Slice = 4_096
	same("with large slices", runProgram(rt, compiler, p, &large, fuel), true)
	if first.Status == meter.Running {
		// wazero's interpreter is the reference: its compiler can be wrong about selects
		// of floats, which are rewritten for that reason.
		same("original", runProgram(rt, interpreter, p, nil, fuel), false)
	}
	checkWork(rt, p, c, fuel)
	return first.Status
}

// checkWork holds the work that a program counts itself against its fuel, and
// against the fuel between two yields, of which there is one at every check if
// slices are as small as they can be.
func checkWork(rt *rapid.T, p program, c meter.Config, fuel int64) {
	c.Slice = 1
	out := runProgram(rt, interpreter, p, &c, fuel)
	if len(out.Globals) == 0 {
		return // it ended in its start function
	}
	work := workStep * out.Globals[len(out.Globals)-1]
	if spent := uint64(fuel - out.Left); work > unitWork*(spent+1) {
		rt.Fatalf("%d instructions for %d units", work, spent)
	}
	// Each frame may be left without a check if its last path was short.
	const mostWork, frameWork = 2 * 256, 32
	if most := uint64(mostWork + frameWork*c.MaxDepth); workStep*out.Stretch > most {
		rt.Fatalf("%d instructions without a check, want at most %d", workStep*out.Stretch, most)
	}
}

// runProgram runs a program in a host of its own; with c rewritten.
func runProgram(rt *rapid.T, e engine, p program, c *meter.Config, fuel int64) *outcome {
	h := newHost(nil, e)
	defer h.runtime.Close(context.Background())
	module := p.module
	var info *meter.Info
	if c != nil {
		var err error
		if module, info, err = meter.Rewrite(p.module, *c); err != nil {
			rt.Fatalf("%v\n%x", err, p.module)
		}
	}
	out, err := h.run(module, info, fuel, p.calls)
	if err != nil {
		rt.Fatalf("%s: %v\n%x", e, err, module)
	}
	return out
}
