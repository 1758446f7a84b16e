package app

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestGCPercent: a heap grows by half, and by 10 MiB at least.
func TestGCPercent(t *testing.T) {
	for scanned, want := range map[uint64]int{0: 1000, 5 << 20: 200, 10 << 20: 100, 19 << 20: 52, 20 << 20: 50, 10 << 30: 50} {
		if got := gcPercent(scanned); got != want {
			t.Errorf("of %d MiB: %d, want %d", scanned>>20, got, want)
		}
	}
}

// TestSaveMemory: a small heap is collected once for each 10 MiB of garbage, or soon before; and no longer so when
// the context has ended.
func TestSaveMemory(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(50)
	defer debug.SetGCPercent(before)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	saveMemory(ctx)
	runtime.GC()
	from := gcCycles()
	const garbage = 600 << 20
	var kept []byte
	for range garbage >> 16 {
		kept = make([]byte, 1<<16)
	}
	runtime.KeepAlive(kept)
	if n := gcCycles() - from; n > garbage/leastGrowth*2 { // other goroutines make garbage, too; without it, there are 157
		t.Errorf("%d collections for %d MiB", n, garbage>>20)
	}
	cancel()
	runtime.GC() // the last one that is followed
	runtime.GC()
	debug.SetGCPercent(77)
	for range 3 {
		runtime.GC()
	}
	if now := debug.SetGCPercent(50); now != 77 {
		t.Errorf("GOGC is %d, and nobody may set it", now)
	}
}

func gcCycles() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
