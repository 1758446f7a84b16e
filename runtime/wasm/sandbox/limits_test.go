package sandbox

import (
	"testing"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// TestDefaultDepth: without a limit of its own, the deepest stack takes an eighth of a small plugin's memory at most.
func TestDefaultDepth(t *testing.T) {
	for total, want := range map[int64]uint32{
		0: meter.DefaultMaxDepth, 256 << 20: meter.DefaultMaxDepth, 64 << 20: 8192, 10 << 20: 1280, 1: 1,
	} {
		l := Limits{TotalMemory: total}.WithDefaults()
		if l.Depth != want {
			t.Errorf("memoryTotal of %d: depth %d, want %d", total, l.Depth, want)
		}
		if l := (Limits{TotalMemory: total, Depth: 77}).WithDefaults(); l.Depth != 77 {
			t.Errorf("memoryTotal of %d: depth %d is not the one that was set", total, l.Depth)
		}
	}
}
