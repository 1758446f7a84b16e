package wasm_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// TestMemoryTotal: with any number of workers, the instances of a guest that takes all that it
// can stay within the plugin's budget together, at every moment, while binding cycles run
// beside the loop. Each instance gets all of its own memory, so the verdicts are the same.
func TestMemoryTotal(t *testing.T)     { memoryTotal(t) }
func TestRestMemoryTotal(t *testing.T) { memoryTotal(t) }

func memoryTotal(t *testing.T) {
	t.Helper()
	counts := []int{1, 2, 8, 1, 2, 8}
	if !testrest.In(t) {
		counts = counts[:1] // slow: it fills memories of many guests
	}
	runtime := newRuntime(t, sandbox.RuntimeConfig{})
	module, man := guest(t, runtime, "guests/hoards")
	const own = 16 << 20
	var want string
	for i, workers := range counts {
		total := int64(64 << 20) // no room for a cycle instance that keeps all that it got
		if i > 2 {
			total = 80 << 20
		}
		p := newPlugin(t, wasm.Config{Shards: workers, Limits: sandbox.Limits{OwnMemory: own, TotalMemory: total, Depth: 1_000}}, module, man)
		var most atomic.Int64
		stop := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					most.Store(max(most.Load(), p.Status().Memory))
				}
			}
		})
		w := newWorld(4000)
		var got strings.Builder
		var binding sync.WaitGroup
		instances := 0
		for pod := range 4 {
			object := incoming("a", fmt.Sprint(pod), int32(pod%2))
			c := w.cycle(object)
			_, status := p.PreFilter(c)
			rows := w.rows()
			fmt.Fprintln(&got, pod, status.AllReasons(), inBlocks(workers, c, rows, func(rows []uint32) string {
				var v plugin.Verdicts
				v.Reset(len(rows))
				p.Filter(c, rows, &v)
				return v.Codes[1].String() + strings.Join(v.Texts(1), ", ")
			}))
			p.Settle("a")
			_, status = p.Reserve(w.placement(object, nodeName(0)))
			fmt.Fprintln(&got, status.AllReasons())
			for range 4 {
				binding.Go(func() {
					if _, status := p.PreBind(w.placement(object, nodeName(0))); status != nil {
						t.Errorf("%d workers, pod %d: %s", workers, pod, status.Message())
					}
				})
			}
			instances = max(instances, p.Status().Instances)
		}
		binding.Wait()
		close(stop)
		watch.Wait()
		s := p.Status()
		if most.Load() > total || s.MemoryMax > total || s.MemoryTotal != total {
			t.Errorf("%d workers: %d bytes at most, %d planned, of %d", workers, most.Load(), s.MemoryMax, total)
		}
		if most.Load() < own {
			t.Errorf("%d workers: no instance had more than %d bytes", workers, most.Load())
		}
		if want == "" {
			want = got.String()
		}
		if got.String() != want || strings.Contains(want, "fault") {
			t.Errorf("%d workers:\n%s\nwith one:\n%s", workers, got.String(), want)
		}
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if s := p.Status(); s.Guests != 0 || s.Instances != 0 {
			t.Errorf("%d workers: after Close %d bytes in %d instances", workers, s.Guests, s.Instances)
		}
	}
}

// TestMemoryFewerInstances: a plugin has fewer instances than workers if its budget has no room
// for more. If there is no room for one, the fault names the largest columns and the remedy,
// with any number of workers.
func TestMemoryFewerInstances(t *testing.T) {
	runtime := newRuntime(t, sandbox.RuntimeConfig{})
	module, man := guest(t, runtime, "guests/hoards")
	for total, want := range map[int64]int{256 << 20: 9, 82 << 20: 4, 64 << 20: 2} { // one of them holds no nodes
		p := newPlugin(t, wasm.Config{Shards: 8, Limits: sandbox.Limits{OwnMemory: 16 << 20, TotalMemory: total, Depth: 1_000}}, module, man)
		w := newWorld(8000)
		v := filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
		if s := p.Status(); v.Codes[0] != abi.Success || s.Instances != want || s.MemoryMax > total {
			t.Errorf("of %d bytes: %v, %d instances, want %d, up to %d bytes", total, v.Codes[0], s.Instances, want, s.MemoryMax)
		}
	}
	module, man = guest(t, runtime, "good")
	_, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Limits: sandbox.Limits{TotalMemory: 32 << 20}}, wasm.Deps{Factory: module, Manifest: man})
	if err == nil || !strings.Contains(err.Error(), "limits.memoryTotal is 32Mi, and the plugin needs ") || !strings.Contains(err.Error(), "raise limits.memoryTotal, or lower limits.memory") {
		t.Errorf("a budget that is less than an instance: %v", err)
	}
	everything := manifest(t, `{"filter":{"scope":"node"}}`, `{"node":["generation","labels","name"],"nodeAnnotations":[`+many("a", 256)+`],"nodeLabels":[`+many("l", 256)+`]}`, "[]")
	var text string
	for _, workers := range []int{1, 8} {
		p := newPlugin(t, wasm.Config{Shards: workers, Limits: sandbox.Limits{OwnMemory: 1 << 20, TotalMemory: 4 << 20, Depth: 100}}, module, everything)
		w := newWorld(8000)
		v := filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
		got := strings.Join(v.Texts(0), ", ")
		if text == "" {
			text = got
		}
		for _, part := range []string{"no-memory: it needs ", "and has 4Mi", "the largest columns of a region of 8000 nodes are node", "raise limits.memoryTotal"} {
			if !strings.Contains(got, part) || got != text {
				t.Errorf("%d workers: %s", workers, got)
				break
			}
		}
		if s := p.Status(); s.Memory > 4<<20 {
			t.Errorf("%d workers: %d bytes", workers, s.Memory)
		}
	}
}

// many returns n names as JSON.
func many(prefix string, n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%q", fmt.Sprint(prefix, i)))
	}
	return strings.Join(out, ",")
}

// TestProcessMemory: plugins of a process share its memory. A new plugin takes from those with
// the largest shares, which have fewer instances at once, and returns it at its end. If any
// would have less than it needs, the new plugin is refused.
func TestProcessMemory(t *testing.T) {
	runtime := newRuntime(t, sandbox.RuntimeConfig{})
	module, man := guest(t, runtime, "guests/hoards")
	process := memory.NewProcess(256 << 20)
	w := newWorld(8000)
	open := func(name string, total int64) (*wasm.Plugin, error) {
		return wasm.New(t.Context(), wasm.Config{Name: name, Shards: 8, Limits: sandbox.Limits{OwnMemory: 16 << 20, TotalMemory: total, Depth: 1_000}},
			wasm.Deps{Factory: module, Manifest: man, Process: process})
	}
	var all []*wasm.Plugin
	check := func(shares ...int64) {
		t.Helper()
		sum := int64(0)
		for i, p := range all {
			before := p.Status()
			if v := filter(p, w.cycle(incoming("a", "p", 0)), w.rows()); v.Codes[0] != abi.Success {
				t.Errorf("plugin %d: %s", i, v.Texts(0))
			}
			s := p.Status()
			if s.MemoryTotal != shares[i]<<20 || s.MemoryMax > s.MemoryTotal || before.Guests > s.MemoryTotal {
				t.Errorf("plugin %d has %d of up to %d of %d bytes, want %d MiB; before it had %d", i, s.Memory, s.MemoryMax, s.MemoryTotal, shares[i], before.Guests)
			}
			sum += s.MemoryTotal
		}
		if sum > 256<<20 {
			t.Errorf("together %d bytes", sum)
		}
	}
	for _, c := range []struct {
		total  int64
		shares []int64
	}{{160 << 20, []int64{160}}, {64 << 20, []int64{160, 64}}, {160 << 20, []int64{96, 64, 96}}} {
		p, err := open(fmt.Sprint("plugin-", len(all)), c.total)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		check(c.shares...)
	}
	_, err := open("fourth", 160<<20)
	if err == nil || !strings.Contains(err.Error(), "with 4 plugins in this process, of whose memory there is 256Mi, ") ||
		!strings.Contains(err.Error(), "would have 64Mi, and it needs ") || !strings.Contains(err.Error(), "the largest are plugin-0 (160Mi), plugin-2 (160Mi), plugin-1 (64Mi): raise --plugin-memory") {
		t.Errorf("a fourth: %v", err)
	}
	check(96, 64, 96)
	if err := all[2].Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	all = all[:2]
	check(160, 64)
	for _, p := range all {
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}
