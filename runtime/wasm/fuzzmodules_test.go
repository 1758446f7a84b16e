package wasm_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// The bounds that FuzzModules holds drawn modules against.
const (
	// mostPerUnit is what a unit of fuel may take, with room for a slow machine.
	mostPerUnit = 300 * time.Nanosecond
	// leastUnits are what a call must have used to be measured.
	leastUnits = 200_000
	// mostCompiling is what loading may take, and mostLoaded what it may allocate, in bytes.
	mostCompiling, mostLoaded = 2 * time.Second, 128 << 20
	// mostBeyond is what the process may have beyond the plugin's budget, in bytes.
	mostBeyond = 64 << 20
)

// FuzzModules: whatever valid module is loaded and called as plugins are, loading it is bounded, a unit of fuel takes a
// bounded time of the processor, and the process has at most the plugin's budget more, and a margin.
func FuzzModules(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		const budget = 64 << 20
		data := wat.Compile(t, drawModule(seed), "")
		points, reads := `{"filter":{}}`, `{"node":["name"],"pod":["name"]}`
		man := manifest(t, points, reads, fmt.Sprintf(`["%s"]`, strings.Join(genHost(), `","`)))
		r := newRuntime(t, wasm.RuntimeConfig{})
		before := resident(t)
		var was, is runtime.MemStats
		runtime.ReadMemStats(&was)
		began := cpuTime()
		m, err := r.Load(t.Context(), data)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		defer m.Close(t.Context())
		took := cpuTime() - began
		runtime.ReadMemStats(&is)
		if n := is.TotalAlloc - was.TotalAlloc; took > mostCompiling || n > mostLoaded {
			t.Errorf("seed %d: loading %d bytes took %v and %d MiB", seed, len(data), took, n>>20)
		}
		p := newPlugin(t, wasm.Config{
			Policies: map[abi.Point]wasm.Policy{abi.Filter: wasm.Ignore}, Breaker: wasm.BreakerConfig{Faults: -1},
			Limits: wasm.Limits{FuelBase: 1_000_000, OwnMemory: 32 << 20, TotalMemory: budget, Deadline: time.Minute},
		}, m, man)
		w := newWorld(3)
		// What others do on the machine makes a call longer, and never shorter.
		var perUnit time.Duration
		for try := range 5 {
			used, began := p.Fuel(), cpuTime()
			filter(p, w.cycle(incoming("a", strconv.Itoa(try), 0)), w.rows())
			p.Settle()
			took, units := cpuTime()-began, p.Fuel()-used
			if units < leastUnits {
				perUnit = 0
				break // it trapped before
			}
			if one := took / time.Duration(units); try == 0 || one < perUnit {
				perUnit = one
			}
			if perUnit <= mostPerUnit {
				break
			}
		}
		t.Logf("seed %d: %d bytes, %v to load, %v a unit, %v", seed, len(data), took, perUnit, p.Status().LastFault)
		if perUnit > mostPerUnit {
			t.Errorf("seed %d: a unit takes %v, at most %v", seed, perUnit, mostPerUnit)
		}
		if more := resident(t) - before; more > budget+mostBeyond {
			t.Errorf("seed %d: the process has %d MiB more, of a budget of %d", seed, more>>20, budget>>20)
		}
	})
}

// resident is what the process has in memory, in bytes; 0 where that cannot be read.
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
