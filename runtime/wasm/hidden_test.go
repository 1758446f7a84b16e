package wasm_test

import (
	"reflect"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// TestHidden: a guest from which seeds and generations are withheld learns neither the seed, nor
// whether the cluster changed between its cycles: each has another generation.
func TestHidden(t *testing.T) {
	type told struct{ seed, generation uint64 }
	var got []told
	f := native(func(g *tiny, _ string, call, _, _ uint32) int32 {
		header := g.u32(call)
		u64 := func(at uint32) uint64 { return uint64(g.u32(header+at)) | uint64(g.u32(header+at+4))<<32 }
		got = append(got, told{u64(abi.HeaderSeed), u64(abi.HeaderGeneration)})
		return 0
	}, abi.ExportPreScore, abi.ExportScore)
	man := &wire.Manifest{Points: wire.ManifestPoints{PreScore: &wire.ManifestPoint{}, Score: &wire.ManifestPoint{}}}
	run := func(c wasm.Config) []told {
		got = nil
		p, w := newPlugin(t, c, f, man), newWorld(2)
		for _, attempts := range []int{1, 0, 20} { // of others, before the plugin's
			for range attempts {
				w.cache.AddNode(state.NewNode(nodeObject("n0")))
				w.cycle(incoming("b", "other", 0))
			}
			cycle := w.again(incoming("a", "p", 0))
			if status := p.PreScore(cycle, w.rows()); !status.Success() {
				t.Fatal(status)
			}
			p.Score(cycle, w.rows(), make([]int64, 2))
		}
		return got
	}
	want := []told{{0, 1}, {0, 1}, {0, 2}, {0, 2}, {0, 3}, {0, 3}}
	if got := run(wasm.Config{HideSeed: true, HideGeneration: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	open := run(wasm.Config{})
	if open[0].seed == 0 || open[4].seed == open[2].seed || open[4].generation-open[2].generation < 20 {
		t.Errorf("told %v", open)
	}
}
