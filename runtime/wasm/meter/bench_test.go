package meter_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// variant is a way of running a module.
type variant struct {
	name string
	omit meter.Part
}

func variants() []variant {
	return []variant{
		{"none", 0}, {"fuel", meter.PartDepth | meter.PartYield}, {"depth", meter.PartYield}, {"all", 0},
	}
}

// BenchmarkOverhead compares work without metering and with it: with fuel alone,
// with fuel and depth, and with all. The variants take turns, so that a busy
// machine slows all of them, and the best time of each counts: times-all 1.1 is 10 %
// more than without.
func BenchmarkOverhead(b *testing.B) {
	kernels := wat.Compile(b, "testdata/kernels.wat", "")
	for _, function := range []string{"sum", "scan", "calls", "fib", "copies"} {
		b.Run("wat/"+function, func(b *testing.B) { overhead(b, kernels, nil, call{function, []uint64{5000}}) })
	}
	guest := buildGo(b, "./testdata/guest")
	setup := []call{{"_initialize", nil}, {"fill", []uint64{5000}}}
	for _, c := range []call{{"scan", []uint64{9000, 20 << 30}}, {"fib", []uint64{17}}, {"text", []uint64{20}}} {
		b.Run("go/"+c.function, func(b *testing.B) { overhead(b, guest, setup, c) })
	}
}

func overhead(b *testing.B, module []byte, setup []call, c call) {
	var guests []*guest
	var functions []api.Function
	best := make([]time.Duration, len(variants()))
	for i, v := range variants() {
		m, info := module, (*meter.Info)(nil)
		if v.name != "none" {
			m, info = rewrite(b, module, meter.Config{Omit: v.omit})
		}
		g, err := newHost(b, compiler).guest(m, info)
		if err != nil {
			b.Fatal(err)
		}
		g.grant(math.MaxInt64)
		for _, s := range setup {
			if _, trap := g.call(s.function, s.args...); trap != "" {
				b.Fatal(trap)
			}
		}
		guests, functions = append(guests, g), append(functions, g.ExportedFunction(c.function))
		best[i] = math.MaxInt64
	}
	stack := make([]uint64, 4)
	n := 0
	all := guests[len(guests)-1]
	left, yields := all.left(), all.host.yields.Load()
	for b.Loop() {
		n++
		for i, f := range functions {
			copy(stack, c.args)
			start := time.Now()
			if err := f.CallWithStack(context.Background(), stack); err != nil {
				b.Fatal(err)
			}
			best[i] = min(best[i], time.Since(start))
		}
	}
	for i, v := range variants()[1:] {
		b.ReportMetric(float64(best[i+1])/float64(best[0]), "times-"+v.name)
	}
	b.ReportMetric(float64(best[0].Nanoseconds()), "best-ns")
	b.ReportMetric(float64(left-all.left())/float64(n), "grains")
	b.ReportMetric(float64(all.host.yields.Load()-yields)/float64(n), "yields")
	b.ReportMetric(0, "ns/op") // of all variants together: means nothing
}

// BenchmarkRewrite rewrites a Go guest of about 2 MB.
func BenchmarkRewrite(b *testing.B) {
	module := buildGo(b, "./testdata/guest")
	var out []byte
	b.SetBytes(int64(len(module)))
	b.ReportAllocs()
	for b.Loop() {
		out, _ = rewrite(b, module, meter.Config{})
	}
	b.ReportMetric(float64(len(out))/float64(len(module)), "times-size")
}

// BenchmarkPause is how long a goroutine stands still that has nothing to do with
// the guest, while one runs that never returns and garbage is collected all the time:
// of each collection the longest time between two looks at the clock, and of these the
// p50, p99 and the longest, in ms. "nobody" is without a guest, and "go" with a loop
// in Go, which the runtime can interrupt anywhere: what these show is the machine's.
//
// slice-p99-ms and slice-max-ms are the part that is the guest's: the time that its
// thread computes between two yields, in which nobody gets in, by the thread's own
// clock, so that they do not depend on what else the machine does.
func BenchmarkPause(b *testing.B) {
	b.Run("nobody", func(b *testing.B) { pauses(b) })
	b.Run("go", func(b *testing.B) {
		var stop atomic.Bool
		var wg sync.WaitGroup
		var spun int
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				spun = n
			}
		})
		pauses(b)
		stop.Store(true)
		wg.Wait()
		b.Logf("%d rounds", spun)
	})
	guests := pauseGuests(b)
	for _, name := range sortedKeys(guests) {
		b.Run(name, func(b *testing.B) {
			h := newHost(b, compiler)
			rewritten, info := rewrite(b, guests[name], meter.Config{})
			g, err := h.guest(rewritten, info)
			if err != nil {
				b.Fatal(err)
			}
			g.grant(math.MaxInt64)
			var slices sliceTimes
			h.onYield = slices.yield
			var wg sync.WaitGroup
			wg.Go(func() {
				runtime.LockOSThread() // whose clock it is
				defer runtime.UnlockOSThread()
				g.call("run")
			})
			for h.yields.Load() == 0 {
				runtime.Gosched()
			}
			pauses(b)
			h.stop.Store(true)
			wg.Wait()
			if g.status() != meter.Stopped {
				b.Errorf("the guest ended by itself: %s", g.status())
			}
			reportQuantiles(b, "slice-", slices.times)
		})
	}
}

// pauses collects garbage and reports how long a goroutine that looks at the clock
// does not come to it.
func pauses(b *testing.B) {
	var stop atomic.Bool
	var longest atomic.Int64 // since it was taken last
	var wg sync.WaitGroup
	wg.Go(func() {
		for last := time.Now(); !stop.Load(); {
			now := time.Now()
			if d := int64(now.Sub(last)); d > longest.Load() {
				longest.Store(d)
			}
			last = now
		}
	})
	var samples []time.Duration
	for b.Loop() {
		longest.Store(0)
		runtime.GC()
		samples = append(samples, time.Duration(longest.Load()))
	}
	stop.Store(true)
	wg.Wait()
	b.ReportMetric(0, "ns/op")
	reportQuantiles(b, "", samples)
}

// sliceTimes are what a guest computed between two yields, all or a sample of them.
type sliceTimes struct {
	times   []time.Duration
	resumed time.Duration // 0 before the first
}

const maxSliceTimes = 1 << 20

func (s *sliceTimes) yield() (done func()) {
	now := threadTime()
	if s.resumed > 0 && len(s.times) < maxSliceTimes {
		s.times = append(s.times, now-s.resumed)
	}
	return func() { s.resumed = threadTime() }
}

// reportQuantiles reports the p50, p99 and the longest in ms.
func reportQuantiles(b *testing.B, prefix string, samples []time.Duration) {
	slices.Sort(samples)
	for name, at := range map[string]int{"p50-ms": len(samples) / 2, "p99-ms": len(samples) * 99 / 100, "max-ms": len(samples) - 1} {
		b.ReportMetric(float64(samples[at].Nanoseconds())/1e6, prefix+name)
	}
}

// pauseGuests are modules that never return: hostile in what they do between two
// checks.
func pauseGuests(b *testing.B) map[string][]byte {
	file := func(name string) []byte { return wat.Compile(b, fmt.Sprintf("testdata/hostile/%s.wat", name), "") }
	loop := func(body func(a *asm)) []byte {
		a := &asm{}
		a.op(0x03, empty)
		body(a)
		a.opN(0x0c, 0)
		a.op(0x0b)
		m := &mod{memory: &[2]int{1024, 1024}, funcs: []fn{{locals: []byte{tI32}, body: a.b}}, exports: map[string]int{"run": 0}}
		return m.bytes()
	}
	return map[string][]byte{
		"loop":     file("loop"),
		"division": file("division"),
		"fills":    file("memory_fill_often"),
		"tables":   file("table_fill"),
		"unwind":   file("unwind"),
		// Each multiplication waits for the one before it.
		"giant body": loop(func(a *asm) {
			for range 40_000 {
				a.opN(0x20, 0)
				a.i32(77)
				a.op(0x6c)
				a.opN(0x21, 0)
			}
		}),
		// Each load depends on the one before it, all over 64 MiB.
		"scattered loads": loop(func(a *asm) {
			for range 20_000 {
				a.opN(0x20, 0)
				a.i32(1664525)
				a.op(0x6c)
				a.i32(1013904223)
				a.op(0x6a)
				a.opN(0x22, 0)
				a.i32(0x3fffff8)
				a.op(0x71)
				a.opN(0x28, 2, 0)
				a.opN(0x20, 0)
				a.op(0x6a)
				a.opN(0x21, 0)
			}
		}),
	}
}
