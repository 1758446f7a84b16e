package wasm_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestCostOfAPlacement: the bytes written into guest memory after a pod was placed, and the
// calls, do not depend on the size of the cluster.
func TestCostOfAPlacement(t *testing.T) {
	type cost struct {
		bytes uint64
		calls int64
	}
	var first cost
	for _, nodes := range []int{10, 100, 1000, 3000} {
		module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/noop")
		p := newPlugin(t, wasm.Config{}, module, man)
		w := newWorld(nodes)
		filter(p, w.cycle(incoming("a", "first", 0)), w.rows())
		before, calls := p.BytesWritten(), p.Calls()
		const pods = 20
		for i := range pods {
			w.place(t, podObject("a", fmt.Sprintf("p%02d", i), nodeName(i%nodes)))
			filter(p, w.cycle(incoming("a", "next", 0)), w.rows())
		}
		got := cost{(p.BytesWritten() - before) / pods, (p.Calls() - calls) / pods}
		t.Logf("%d nodes: %d bytes and %d calls a pod", nodes, got.bytes, got.calls)
		if first == (cost{}) {
			first = got
		}
		if got != first || got.calls != 1 || got.bytes > 100 {
			t.Errorf("%d nodes: %+v a pod, with 10 nodes %+v", nodes, got, first)
		}
	}
}

// TestCallsOfAPod: there is one call per instance for scope cluster, and one per block for scope
// node.
func TestCallsOfAPod(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/noop")
	for _, shards := range []int{1, 2, 4} {
		p := newPlugin(t, wasm.Config{Shards: shards}, module, man)
		w := newWorld(4500)
		filterBlocks(p, w.cycle(incoming("a", "p", 0)), w.rows())
		if p.Calls() != 5 {
			t.Errorf("%d shards: %d calls for 5 blocks", shards, p.Calls())
		}
	}
}

// allocsOfFilter is the number of allocations of a Filter call.
func allocsOfFilter(t *testing.T, p *wasm.Plugin, w *world) float64 {
	c := w.cycle(incoming("a", "p", 0))
	rows := w.rows()
	var v plugin.Verdicts
	return testing.AllocsPerRun(50, func() {
		v.Reset(len(rows))
		p.Filter(c, rows, &v)
	})
}

// TestAllocations: a call about any number of rows allocates nothing; a guest's reasons take a few
// allocations.
func TestAllocations(t *testing.T) {
	for _, nodes := range []int{3, 3000} {
		module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/noop")
		if n := allocsOfFilter(t, newPlugin(t, wasm.Config{}, module, man), newWorld(nodes)); n > 0 {
			t.Errorf("%d nodes: %v allocations a call", nodes, n)
		}
		if n := allocsOfFilter(t, newPlugin(t, wasm.Config{VerifyEvery: 1}, module, man), newWorld(nodes)); n > 0 {
			t.Errorf("%d nodes: %v allocations a call that is checked", nodes, n)
		}
		p := fromGlobals(t, "filter_from_global", wasm.Config{})
		w := newWorld(nodes)
		p.set("code=2 reason=2")
		filter(p.Plugin, w.cycle(incoming("a", "p", 0)), w.rows())
		p.spy.before = nil
		if n := allocsOfFilter(t, p.Plugin, w); n > 4 {
			t.Errorf("%d nodes: %v allocations a call with a reason of two texts", nodes, n)
		}
	}
}

// BenchmarkFilter measures the overhead of a call: the guest does nothing. Each pod begins a
// cycle, after one pod was placed.
func BenchmarkFilter(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		for _, kind := range []string{"native", "wasm"} {
			b.Run(fmt.Sprintf("guest=%s/nodes=%d", kind, nodes), func(b *testing.B) {
				module, man := guest(b, newRuntime(b, sandbox.RuntimeConfig{}), "guests/noop")
				var factory sandbox.Factory = module
				if kind == "native" {
					factory = native(nil, abi.ExportFilter)
				}
				p := newPlugin(b, wasm.Config{}, factory, man)
				w := newWorld(nodes)
				var pods []*state.Pod
				for i := range 64 {
					pods = append(pods, incoming("a", fmt.Sprint("p", i), 0))
				}
				var v plugin.Verdicts
				rows := func() []uint32 { w.cache.UpdateSnapshot(w.snap); return w.rows() }()
				v.Reset(len(rows))
				p.Filter(w.again(pods[0]), rows, &v)
				before := p.BytesWritten()
				b.ResetTimer()
				for i := range b.N {
					v.Reset(len(rows))
					p.Filter(w.again(pods[i%len(pods)]), rows, &v)
				}
				b.ReportMetric(float64(p.BytesWritten()-before)/float64(b.N), "bytes-written/op")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
			})
		}
	}
}

// BenchmarkSync measures the update of guest memory after one pod was placed.
func BenchmarkSync(b *testing.B) {
	for _, nodes := range []int{100, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			module, man := guest(b, newRuntime(b, sandbox.RuntimeConfig{}), "guests/noop")
			p := newPlugin(b, wasm.Config{}, module, man)
			w := newWorld(nodes)
			pod := incoming("a", "p", 0)
			var v plugin.Verdicts
			filter(p, w.cycle(pod), w.rows())
			one := []uint32{0}
			for i := range b.N {
				b.StopTimer()
				w.place(b, podObject("a", fmt.Sprint("x", i), nodeName(i%nodes)))
				c := w.cycle(pod)
				v.Reset(1)
				b.StartTimer()
				p.Filter(c, one, &v)
			}
		})
	}
}

// BenchmarkFill measures making an instance and writing all rows.
func BenchmarkFill(b *testing.B) {
	module, man := guest(b, newRuntime(b, sandbox.RuntimeConfig{}), "guests/noop")
	w := newWorld(5000)
	for i := range 5000 {
		p := podObject("a", fmt.Sprint("x", i), nodeName(i%5000))
		p.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse("1Gi")
		w.place(b, p)
	}
	c := w.cycle(incoming("a", "p", 0))
	for range b.N {
		p := newPlugin(b, wasm.Config{}, module, man)
		filter(p, c, []uint32{0})
		if err := p.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
