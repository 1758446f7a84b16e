package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A garbage collection starts when the heap has grown by growthPercent of what the last one found, and by at least
// leastGrowth.
const (
	growthPercent = 50
	leastGrowth   = 10 << 20
)

// saveMemory starts garbage collections earlier than Go does, until ctx ends, unless GOGC is set. Most of the heap
// are the informers' objects, which stay.
func saveMemory(ctx context.Context) {
	if os.Getenv("GOGC") == "" {
		(&collections{ctx: ctx}).follow()
	}
}

// collections sets GOGC after each garbage collection.
type collections struct {
	ctx     context.Context
	percent int // as it was set
}

// follow sets GOGC now, and again after the next garbage collection.
func (c *collections) follow() {
	if c.ctx.Err() != nil {
		return
	}
	// What Go multiplies by GOGC: https://go.dev/doc/gc-guide#GOGC
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	var scanned uint64
	for _, s := range samples {
		scanned += s.Value.Uint64()
	}
	if percent := gcPercent(scanned); percent != c.percent {
		c.percent = percent
		debug.SetGCPercent(percent)
	}
	// The next collection finds that nothing refers to it.
	collected := new(struct{ _ *byte })
	runtime.AddCleanup(collected, (*collections).follow, c)
}

// gcPercent returns GOGC for what a garbage collection has found, in bytes.
func gcPercent(scanned uint64) int {
	return max(growthPercent, int(leastGrowth*100/max(scanned, 1<<20)))
}
