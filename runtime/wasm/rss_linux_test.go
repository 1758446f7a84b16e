package wasm_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/runtime/wasm"
)

// TestMemoryOfProcess: what the process really has grows by the plugin's budget at most, and
// a margin, while a guest takes all that it gets for each pod; and is given back.
func TestMemoryOfProcess(t *testing.T) {
	resident := func() int64 {
		text, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			t.Fatal(err)
		}
		pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return pages * int64(os.Getpagesize())
	}
	module, man := guest(t, newRuntime(t, wasm.RuntimeConfig{}), "guests/hoards")
	const total, margin = 128 << 20, 64 << 20
	p := newPlugin(t, wasm.Config{Shards: 8, Limits: wasm.Limits{OwnMemory: 32 << 20, TotalMemory: total}}, module, man)
	w := newWorld(4000)
	filter(p, w.cycle(incoming("a", "first", 0)), w.rows())
	before, most := resident(), int64(0)
	for i := range 6 {
		pod := incoming("a", fmt.Sprint(i), 1)
		c := w.cycle(pod)
		inBlocks(8, c, w.rows(), func(rows []uint32) string {
			filter(p, c, rows)
			return ""
		})
		p.Settle()
		p.Reserve(w.placement(pod, nodeName(0)))
		most = max(most, resident()-before)
	}
	if most > total+margin || most < 16<<20 {
		t.Errorf("the process has %d MiB more, of a budget of %d", most>>20, total>>20)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if after := resident() - before; after > margin {
		t.Errorf("%d MiB are left after Close", after>>20)
	}
}
