package sandbox

import (
	"math"
	"testing"
	"time"

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

// TestCallDeadline: the deadline leaves a host that is 20 times as slow enough time for the slowest code to use up the fuel of a call.
func TestCallDeadline(t *testing.T) {
	defaults := Limits{}.WithDefaults()
	for fuel, want := range map[int64]time.Duration{
		0: 10 * time.Second, 312_500: 10 * time.Second, 312_501: 312_501 * 32 * time.Microsecond,
		defaults.CallFuel(5_000): 480 * time.Second, math.MaxInt64: math.MaxInt64 / (32 * time.Microsecond) * 32 * time.Microsecond,
	} {
		if got := defaults.CallDeadline(fuel); got != want {
			t.Errorf("a call with %d units has %v, want %v", fuel, got, want)
		}
	}
	if got := (&Limits{Deadline: time.Second}).CallDeadline(1 << 40); got != time.Second {
		t.Errorf("a deadline of 1s became %v", got)
	}
}
