package meter_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
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
	same := func(what string, e engine, config *meter.Config) {
		if err := first.differs(runProgram(rt, e, p, config, fuel), config != nil); err != nil {
			rt.Fatalf("%s: %v", what, err)
		}
	}
	same("interpreted", interpreter, &c)
	other := c
	other.Slice = 4_096
	same("with large slices", compiler, &other)
	if first.Status == meter.Running {
		same("original, compiled", compiler, nil)
		same("original, interpreted", interpreter, nil)
	}
	return first.Status
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

var _ = strings.Cut
var _ = wazero.NewRuntime
