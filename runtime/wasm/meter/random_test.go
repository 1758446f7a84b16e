package meter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// TestRandomPrograms: rewritten, a program gives the same results, traps, memory,
// globals and calls of the host on both engines, with the same fuel, whatever the
// size of slices; and, unless fuel or depth ended it, the same as the original.
// The programs are the same in each run; FuzzPrograms looks for others.
func TestRandomPrograms(t *testing.T)     { randomPrograms(t) }
func TestRestRandomPrograms(t *testing.T) { randomPrograms(t) }

func randomPrograms(t *testing.T) {
	t.Helper()
	programs := rapid.Custom(generate)
	ended := map[meter.Status]int{}
	n := 300
	if !testrest.In(t) {
		n = 60 // slow: each is run in five ways
	}
	for i := range n {
		status, err := check(programs.Example(i))
		if err != nil {
			t.Errorf("program %d: %v", i, err)
		}
		ended[status]++
	}
	if testrest.In(t) && (ended[meter.Running] < 100 || ended[meter.OutOfFuel] == 0 || ended[meter.TooDeep] == 0) {
		t.Errorf("programs ended as %v; the generator makes too few of a kind", ended)
	}
}

// FuzzPrograms holds what TestRandomPrograms does for any program.
func FuzzPrograms(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		if _, err := check(generate(t)); err != nil && !errors.Is(err, errRuntime) {
			t.Fatal(err)
		}
	}))
}

// errRuntime is a program of which wazero's engines make different things, rewritten
// or not: its compiler has such faults (wazero issue 2516 is one), which say nothing of
// the rewriter.
var errRuntime = errors.New("wazero's engines differ about the original")

// check runs a program in all ways, and returns how it ended.
func check(p program) (meter.Status, error) {
	c := &p.config
	first, err := p.run(interpreter, c)
	if err != nil {
		return 0, err
	}
	var original *outcome
	if first.Status == meter.Running {
		if original, err = p.run(interpreter, nil); err != nil {
			return 0, err
		}
		if err := original.differs(first, false); err != nil {
			return 0, fmt.Errorf("original, rewritten: %w", err)
		}
	}
	if err := p.checkWork(); err != nil {
		return 0, err
	}
	large := *c
	large.Slice = 4_096
	for _, config := range []*meter.Config{c, &large} {
		compiled, err := p.run(compiler, config)
		if err != nil {
			return 0, err
		}
		if err := first.differs(compiled, true); err != nil {
			if compiled, runtime := p.run(compiler, nil); runtime == nil && original != nil && original.differs(compiled, false) != nil {
				err = errRuntime
			}
			return 0, fmt.Errorf("interpreted, compiled: %w", err)
		}
	}
	return first.Status, nil
}

// checkWork holds the work that a program counts itself against its fuel, and
// against the fuel between two yields, of which there is one at every check if
// slices are as small as they can be.
func (p program) checkWork() error {
	c := p.config
	c.Slice = 1
	out, err := p.run(interpreter, &c)
	if err != nil || len(out.Globals) == 0 { // it ended in its start function
		return err
	}
	const frameWork = 32
	work, spent := workStep*out.Globals[len(out.Globals)-1], uint64(p.fuel-out.Left)
	// Frames that a trap left open have not paid for their last path.
	if most := spent + mostWork*uint64(out.Frames+1); work > most {
		return fmt.Errorf("%d instructions for %d grains, want at most %d", work, spent, most)
	}
	// Each frame may be left without a check if its last path was short.
	if most := uint64(mostWork + frameWork*c.MaxDepth); workStep*out.Stretch > most {
		return fmt.Errorf("%d instructions without a check, want at most %d", workStep*out.Stretch, most)
	}
	return nil
}

// run runs a program in a host of its own; with c rewritten.
func (p program) run(e engine, c *meter.Config) (*outcome, error) {
	h := newHost(nil, e)
	h.counts = true
	defer h.runtime.Close(context.Background())
	module := p.module
	var info *meter.Info
	if c != nil {
		var err error
		if module, info, err = meter.Rewrite(p.module, *c); err != nil {
			return nil, fmt.Errorf("%w\n%x", err, p.module)
		}
	}
	out, err := h.run(module, info, p.fuel, p.calls)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%x", e, err, module)
	}
	return out, nil
}
