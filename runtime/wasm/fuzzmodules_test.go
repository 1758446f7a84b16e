package wasm_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// The bounds of FuzzModules.
const (
	// genFuel is the fuel of a call, and leastUnits what it must use to be measured, in units.
	genFuel, leastUnits = 50_000, 10_000
	// mostCompiling is how long loading may take, and mostLoaded how many bytes it may allocate.
	mostCompiling, mostLoaded = 2 * time.Second, 128 << 20
	// genBudget is the plugin's memory, and mostBeyond what the process may have besides, in bytes.
	genBudget, mostBeyond = 64 << 20, 64 << 20
)

// FuzzModules: for any valid module that is loaded and called like a plugin, loading is bounded, a unit of fuel takes at most
// meter.MostTimesPlain times its time in a loop that does nothing, in CPU time, and the memory of the process grows at most by the
// plugin's budget and a margin.
func FuzzModules(f *testing.F) {
	for seed := range uint64(fewModules) {
		f.Add(seed)
	}
	plain := plainLoop(f)
	f.Fuzz(func(t *testing.T, seed uint64) { holdsBounds(t, plain, seed) })
}

// TestRestModules holds what FuzzModules does for more modules: calls are timed against each other, which is slow.
func TestRestModules(t *testing.T) {
	plain := plainLoop(t)
	for seed := range uint64(60 - fewModules) {
		t.Run(fmt.Sprint(fewModules+seed), func(t *testing.T) { holdsBounds(t, plain, fewModules+seed) })
	}
}

const fewModules = 4

// plainLoop is a plugin that does nothing but count.
func plainLoop(t testing.TB) *drawn {
	t.Helper()
	return newDrawn(t, `(module (memory (export "memory") 2)
		(func (export "berth_abi") (result i32) (i32.const 0x10000)) (func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 65536))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (local $i i32)
			(loop $again (br_if $again (i32.ne (local.tee $i (i32.sub (local.get $i) (i32.const 1))) (i32.const 0)))) (i32.const 0)))`)
}

func holdsBounds(t *testing.T, plain *drawn, seed uint64) {
	t.Helper()
	before := resident(t)
	drawn := newDrawn(t, drawModule(seed))
	// Other processes make a call longer, and never shorter.
	least, base := math.Inf(1), math.Inf(1)
	for try := 0; try < 2 || try < 6 && least > meter.MostTimesPlain*base; try++ {
		least, base = min(least, drawn.perUnit()), min(base, plain.perUnit())
	}
	t.Logf("seed %d: %.0f ns a unit, %.1f times those of a plain loop; %v", seed, least, least/base, drawn.plugin.Status().Breaker.LastFault)
	if least > meter.MostTimesPlain*base {
		t.Errorf("seed %d: a unit takes %.0f ns, %.1f times those of a plain loop, at most %d", seed, least, least/base, meter.MostTimesPlain)
	}
	if more := resident(t) - before; more > genBudget+mostBeyond {
		t.Errorf("seed %d: the process has %d MiB more, of a budget of %d", seed, more>>20, genBudget>>20)
	}
}

// drawn is a plugin of a drawn module.
type drawn struct {
	plugin *wasm.Plugin
	world  *world
}

// newDrawn loads a module within the bounds.
func newDrawn(t testing.TB, text string) *drawn {
	t.Helper()
	data := wat.Compile(t, text, "")
	man := manifest(t, `{"filter":{}}`, `{"node":["name"],"pod":["name"]}`, fmt.Sprintf(`["%s"]`, strings.Join(genHost(), `","`)))
	r := newRuntime(t, sandbox.RuntimeConfig{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := cpuTime()
	m, err := r.Load(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	took := cpuTime() - began
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; took > mostCompiling || n > mostLoaded {
		t.Errorf("loading %d bytes took %v and %d MiB", len(data), took, n>>20)
	}
	p := newPlugin(t, wasm.Config{
		Breaker: breaker.Config{Faults: -1}, Limits: sandbox.Limits{FuelBase: genFuel, FuelPerRow: 1, OwnMemory: 32 << 20, TotalMemory: genBudget, Deadline: time.Minute},
	}, m, man)
	return &drawn{plugin: p, world: newWorld(3)}
}

// perUnit returns the time of a unit of a call in ns, without those of starting; 0 if the call ends early.
func (d *drawn) perUnit() float64 {
	c := d.world.cycle(incoming("a", "p", 0))
	used, began := d.plugin.Fuel(), cpuTime()
	filter(d.plugin, c, d.world.rows())
	took, units := cpuTime()-began, d.plugin.Fuel()-used
	d.plugin.Settle("a")
	if units < leastUnits {
		return 0
	}
	return float64(took) / float64(units)
}

// resident returns the resident memory of the process in bytes; 0 if it cannot be read.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
