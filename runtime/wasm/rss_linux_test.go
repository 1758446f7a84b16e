package wasm_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestMemoryOfProcess: while a guest takes all the memory that it can for each pod, the process's
// resident memory grows at most by the plugin's budget and a margin. Later it is freed.
func TestMemoryOfProcess(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/hoards")
	const total, margin = 128 << 20, 64 << 20
	p := newPlugin(t, wasm.Config{Shards: 8, Limits: sandbox.Limits{OwnMemory: 32 << 20, TotalMemory: total}}, module, man)
	w := newWorld(4000)
	filter(p, w.cycle(incoming("a", "first", 0)), w.rows())
	debug.FreeOSMemory() // of earlier tests
	before, most := resident(t), int64(0)
	for i := range 6 {
		pod := incoming("a", fmt.Sprint(i), 1)
		c := w.cycle(pod)
		inBlocks(8, c, w.rows(), func(rows []uint32) string {
			filter(p, c, rows)
			return ""
		})
		p.Settle("a")
		p.Reserve(w.placement(pod, nodeName(0)))
		most = max(most, resident(t)-before)
	}
	if most > total+margin || most < 16<<20 {
		t.Errorf("the process has %d MiB more, of a budget of %d", most>>20, total>>20)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if after := resident(t) - before; after > margin {
		t.Errorf("%d MiB are left after Close", after>>20)
	}
}
