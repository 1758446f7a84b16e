package wasm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// TestBreaker: a plugin that keeps failing is not called, for longer and longer, until a probe
// works; the same in cycles and outside of them.
func TestBreaker(t *testing.T) {
	for _, shards := range []int{0, 2} {
		w := newWorld(3)
		clk := clock.NewStep(time.Unix(0, 0))
		broken, recovered := true, 0
		scope := map[bool]string{true: "node", false: "cluster"}[shards > 0]
		m := &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{Scope: scope}, PreEnqueue: &wire.ManifestPoint{}, PreScore: nil}}
		p, err := wasm.New(t.Context(), wasm.Config{
			Name: "guest", Shards: shards, Breaker: breaker.Config{Faults: 3, Backoff: time.Second, MaxBackoff: 3 * time.Second},
		}, wasm.Deps{
			Factory: native(func(_ *tiny, export string, _, _, _ uint32) int32 {
				if broken && export == abi.ExportFilter {
					panic("broken")
				}
				return 0
			}, abi.ExportFilter, abi.ExportPreEnqueue), Manifest: m, Clock: clk, Recovered: func() { recovered++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		// cycle returns what the filter did: c for a good call, f for a fault, o for no call.
		cycle := func() string {
			before := p.Calls()
			v := filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
			p.Settle("a")
			switch {
			case v.Codes[0] == abi.Success:
				return "c"
			case p.Calls() > before:
				return "f"
			case !strings.Contains(v.Texts(0)[0], "the plugin is not called for pods of namespace a until 1970-01-01T00:00:0"),
				!strings.Contains(v.Texts(0)[0], "calls in a row were faulted, the last with ") && !strings.Contains(v.Texts(0)[0], "the call to try it was faulted, the last with "):
				t.Errorf("message %q", v.Texts(0))
			}
			return "o"
		}
		cycles := func(n int, want string) {
			t.Helper()
			got := ""
			for range n {
				got += cycle()
			}
			if got != want {
				t.Errorf("%d shards: cycles went %s, want %s", shards, got, want)
			}
		}
		cycles(2, "ff")
		broken = false
		cycles(1, "c") // not in a row
		broken = true
		cycles(5, "fffoo")
		if at, ok := p.RetryAt("a"); !ok || !at.Equal(time.Unix(1, 0)) {
			t.Errorf("retry at %v, %v", at, ok)
		}
		statuses := make([]*plugin.Status, 1)
		p.PreEnqueue([]*state.Pod{incoming("a", "q", 0)}, statuses)
		if f, ok := fault.As(statuses[0].AsError()); !ok || f.Kind != fault.BreakerOpen || f.Point != abi.PreEnqueue {
			t.Errorf("another point: %v", statuses[0].AllReasons())
		}
		clk.Advance(time.Second)
		cycles(2, "fo") // the probe fails
		clk.Advance(time.Second)
		cycles(1, "o") // twice as long
		clk.Advance(time.Second)
		cycles(2, "fo")
		if at, _ := p.RetryAt("a"); !at.Equal(time.Unix(6, 0)) { // the most
			t.Errorf("retry at %v", at)
		}
		clk.Advance(3 * time.Second)
		broken = false
		cycles(3, "ccc")
		if _, ok := p.RetryAt("a"); ok || recovered != 1 {
			t.Errorf("retry %v, recovered %d times", ok, recovered)
		}
		broken = true
		cycles(4, "fffo")
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBreakerByShare: a plugin that fails often, but never in a row, is not called when a quarter
// of its last calls were faulted, and for longer if that happens again soon.
func TestBreakerByShare(t *testing.T) {
	for every, want := range map[int]struct {
		calls int // until the breaker opens
		again time.Duration
	}{
		2: {50, 2 * time.Second},
		3: {75, 2 * time.Second},
		4: {100, time.Second}, // 100 calls went by
		5: {0, 0},
	} {
		w := newWorld(1)
		clk := clock.NewStep(time.Unix(0, 0))
		called := 0
		p, err := wasm.New(t.Context(), wasm.Config{Name: "guest"}, wasm.Deps{
			Factory: native(func(*tiny, string, uint32, uint32, uint32) int32 {
				if called++; called%every == 0 {
					panic("broken")
				}
				return 0
			}, abi.ExportFilter), Manifest: &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}}}, Clock: clk,
		})
		if err != nil {
			t.Fatal(err)
		}
		until := func() (calls int, open time.Duration) {
			before := called
			for range 1000 {
				filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
				if p.Settle("a"); p.Status().Breaker.State == breaker.Open {
					at, _ := p.RetryAt("a")
					return called - before, at.Sub(clk.Now())
				}
			}
			return 0, 0
		}
		if calls, open := until(); calls != want.calls || calls > 0 && open != time.Second {
			t.Errorf("each %d. call fails: left alone after %d calls, for %v; want %d", every, calls, open, want.calls)
		}
		clk.Advance(time.Second)
		if _, open := until(); open != want.again {
			t.Errorf("each %d. call fails: left alone again for %v, want %v", every, open, want.again)
		}
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBreakerBesideHints: a filter that fails for four of five pods opens the breaker after 25 faults, however many hints
// work meanwhile: how many events come depends on the speed of machines.
func TestBreakerBesideHints(t *testing.T) {
	for _, hints := range []int{0, 1, 40} {
		w := newWorld(1)
		calls := 0
		m := &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}, Hint: &wire.ManifestPoint{}}}
		p, err := wasm.New(t.Context(), wasm.Config{Name: "guest"}, wasm.Deps{
			Factory: native(func(_ *tiny, export string, _, _, _ uint32) int32 {
				if export == abi.ExportFilter {
					if calls++; calls%5 > 0 {
						panic("broken")
					}
				}
				return 0
			}, abi.ExportFilter, abi.ExportHint), Manifest: m, Clock: clock.NewStep(time.Unix(0, 0)),
		})
		if err != nil {
			t.Fatal(err)
		}
		pods := []*state.Pod{incoming("a", "q", 0)}
		for range 200 {
			filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
			p.Settle("a")
			for range hints {
				p.Hint(state.ClusterEvent{Resource: state.NodeResource, Action: state.Add}, state.Object{}, pods, make([]state.Hint, 1))
			}
		}
		if s := p.Status().Breaker; s.State != breaker.Open || calls != 31 {
			t.Errorf("%d hints a cycle: %s after %d calls", hints, s.State, calls)
		}
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBreakerOfBindings: a binding cycle's calls count only when the loop takes in the result
// of the binding, so no verdict of the loop depends on the speed of binding cycles.
func TestBreakerOfBindings(t *testing.T) {
	w := newWorld(1)
	clk := clock.NewStep(time.Unix(0, 0))
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Breaker: breaker.Config{Faults: 2}}, wasm.Deps{
		Factory: native(func(_ *tiny, export string, _, _, _ uint32) int32 {
			if export == abi.ExportPreBind {
				panic("broken")
			}
			return 0
		}, abi.ExportFilter, abi.ExportPreBind), Clock: clk,
		Manifest: &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{}, PreBind: &wire.ManifestPoint{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	cycle := func() abi.Code {
		defer p.Settle("a")
		return filter(p, w.cycle(incoming("a", "p", 0)), w.rows()).Codes[0]
	}
	cycle()
	var bound []*plugin.Placement
	for i := range 4 {
		pl := w.placement(incoming("a", "p", 0), nodeName(0))
		if _, status := p.PreBind(pl); status.CodeOf() != abi.Error {
			t.Errorf("binding %d: %v", i, status.CodeOf())
		}
		if code := cycle(); code != abi.Success {
			t.Errorf("a filter after binding %d: %v", i, code)
		}
		bound = append(bound, pl)
	}
	for i, pl := range bound {
		for _, call := range pl.Beside {
			p.Learn("a", call)
		}
		if code := cycle(); (code == abi.Success) != (i < 1) {
			t.Errorf("a filter after result %d: %v", i, code)
		}
	}
	clk.Advance(time.Second)
	if p.Settle("a"); p.Status().Breaker.State != breaker.HalfOpen {
		t.Error("binding cycles are not let through when the time has come")
	}
}
