package wasm_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// counting counts the instances that are made, and the fuel of allocating their regions.
type counting struct {
	sandbox.Factory
	mu    sync.Mutex
	made  int
	alloc int64
}

func (c *counting) New(ctx context.Context, region uint32, env *sandbox.Env) (sandbox.Guest, error) {
	c.mu.Lock()
	c.made++
	c.mu.Unlock()
	g, err := c.Factory.New(ctx, region, env)
	if err != nil {
		return nil, err
	}
	return &counted{Guest: g, of: c, env: env}, nil
}

// counted is a guest of a counting.
type counted struct {
	sandbox.Guest
	of  *counting
	env *sandbox.Env
}

func (g *counted) Alloc(ctx context.Context, size uint32) (uint32, error) {
	base, err := g.Guest.Alloc(ctx, size)
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	g.of.alloc += g.env.Used()
	return base, err
}

// inBlocks calls filter or score block by block, with so many workers at once.
func inBlocks(workers int, c *plugin.Cycle, rows []uint32, call func(rows []uint32) string) string {
	said := make([]string, (len(rows)+1023)/1024)
	work := make(chan int, len(said))
	for i := range said {
		work <- i
	}
	close(work)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range work {
				said[i] = call(rows[1024*i : min(len(rows), 1024*(i+1))])
			}
		})
	}
	group.Wait()
	return strings.Join(slices.Compact(said), " ")
}

// kindOf names the fault of a status: "." for none, "T" for a trap.
func kindOf(s *plugin.Status) string {
	switch f, ok := fault.As(s.AsError()); {
	case !ok:
		return "."
	case f.Kind == fault.Trap:
		return "T"
	default:
		return string(f.Kind) + ": " + f.Detail + "\n"
	}
}

// TestStarts: a guest that is expensive to start and fails for every third pod is charged a start
// for each failed call. When starts have used their fuel it is not called, for longer each
// time. That depends only on its calls: with any number of workers, verdicts and charges are
// the same.
func TestStarts(t *testing.T) {
	runtime := newRuntime(t, sandbox.RuntimeConfig{})
	module, man := guest(t, runtime, "guests/burns_start")
	const start, restarts = 14_000, 275_000
	var want string
	for _, workers := range []int{1, 2, 8} {
		clk := clock.NewStep(time.Unix(0, 0))
		factory := &counting{Factory: module}
		p, err := wasm.New(t.Context(), wasm.Config{
			Name: "guest", Shards: workers, Policies: map[abi.Point]fault.Policy{abi.Filter: fault.Ignore, abi.Score: fault.Fail},
			Limits: sandbox.Limits{FuelStart: start, FuelRestarts: restarts},
		}, wasm.Deps{Factory: factory, Manifest: man, Clock: clk})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(5000)
		var got strings.Builder
		for pod := range 60 {
			before := factory.made
			c := w.cycle(incoming("a", fmt.Sprint(pod), int32(pod%3/2)))
			_, status := p.PreFilter(c)
			fmt.Fprintf(&got, "pod %d: %s", pod, kindOf(status))
			rows := w.rows()
			got.WriteString(inBlocks(workers, c, rows, func(rows []uint32) string {
				var v plugin.Verdicts
				v.Reset(len(rows))
				p.Filter(c, rows, &v)
				return v.Codes[1].String() + strings.Join(v.Texts(1), ", ")
			}))
			got.WriteString(inBlocks(workers, c, rows, func(rows []uint32) string {
				return kindOf(p.Score(c, rows, make([]int64, len(rows))))
			}))
			p.Settle("a")
			s := p.Status()
			fmt.Fprintf(&got, " %s, opened %d, starts %d of %d, last %v\n", s.Breaker.State, s.Breaker.Opened, s.Breaker.Starts, s.Breaker.StartsLimit, s.Breaker.LastFault)
			clk.Advance(100 * time.Millisecond)
			if factory.made-before > 10 { // a start for each block and score
				t.Errorf("%d workers: pod %d started %d instances", workers, pod, factory.made-before)
			}
		}
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		text := got.String()
		if want == "" {
			want = text
			for _, part := range []string{"starting: ", "open, opened 1,", "open, opened 2,", "the plugin is not called for pods of namespace"} {
				if !strings.Contains(text, part) {
					t.Errorf("nothing tells %q:\n%.4000s", part, text)
				}
			}
		}
		if text != want {
			a, b := strings.Split(want, "\n"), strings.Split(text, "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Errorf("%d workers:\n%s\nwith one:\n%s", workers, b[i], a[i])
					break
				}
			}
		}
		// The first start of each instance, the budget, and a few for each probe.
		if n := 2 + workers + restarts/12_300 + 40; factory.made > n {
			t.Errorf("%d workers: %d instances were started, at most %d may", workers, factory.made, n)
		}
	}
}

// TestStartsInPreemption: a guest that traps for each hypothetical node of a preemption is started
// again only as often as its fuel for restarts allows, which pays for its allocator, too. Nothing
// of that depends on the number of workers.
func TestStartsInPreemption(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/traps_overlays")
	const nodes, restarts = 3000, 200_000
	var want string
	for _, workers := range []int{1, 2, 8} {
		factory := &counting{Factory: module}
		var log bytes.Buffer
		p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Shards: workers, Limits: sandbox.Limits{FuelRestarts: restarts}},
			wasm.Deps{Factory: factory, Manifest: man, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(nodes)
		c := w.cycle(incoming("a", "p", 1))
		rows := w.rows()
		inBlocks(workers, c, rows, func(rows []uint32) string { return verdicts(filter(p, c, rows)) })
		made, alloc := factory.made, factory.alloc
		var got strings.Builder
		for _, row := range rows {
			overlay := w.snap.Overlay(row)
			got.WriteString(verdicts(filter(p, c, []uint32{overlay})) + "\n")
			w.snap.Release(overlay)
		}
		if n := factory.made - made; n > 15 || n < 3 {
			t.Errorf("%d workers: %d instances were started for %d nodes", workers, n, nodes)
		}
		if n := strings.Count(log.String(), "\n"); n > 16 { // a trap for each start, and one that there are no more
			t.Errorf("%d workers: the log has %d lines: %.2000s", workers, n, &log)
		}
		p.Settle("a")
		s := p.Status().Breaker
		if spent := factory.alloc - alloc; spent > s.Starts || s.Starts > 2*restarts {
			t.Errorf("%d workers: starts used %d units, %d were charged, of %d", workers, spent, s.Starts, restarts)
		}
		fmt.Fprintf(&got, "%s, starts %d of %d", s.State, s.Starts, s.StartsLimit)
		if want = cmp.Or(want, got.String()); got.String() != want || !strings.Contains(want, "starting: ") {
			t.Errorf("%d workers: %.2000s\nwith one: %.2000s", workers, got.String(), want)
		}
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStartsOfStrings: pods that each bring many new strings begin epochs, and need larger regions for a while. Neither
// starts instances for long: the region is written again in its place, and grows by half at least.
func TestStartsOfStrings(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/noop")
	man.Reads.Pod = append(man.Reads.Pod, "labels")
	factory := &counting{Factory: module}
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest"}, wasm.Deps{Factory: factory, Manifest: man})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	w, strings := newWorld(3), 0
	for pod := range 60 {
		object := podObject("a", fmt.Sprint(pod), "")
		object.Labels = make(map[string]string)
		for range 2000 {
			strings++
			object.Labels[fmt.Sprint("key-", strings)] = ""
		}
		v := filter(p, w.cycle(state.NewPod(object)), w.rows())
		if p.Settle("a"); v.Codes[0] != abi.Success {
			t.Fatalf("pod %d: %v", pod, v.Texts(0))
		}
	}
	if factory.made > 8 { // with the first one, which only sees the configuration
		t.Errorf("%d instances were started for 60 pods", factory.made)
	}
	if p.Faults() > 0 {
		t.Errorf("%d faults", p.Faults())
	}
}
