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
)

// TestBreaker: a plugin that fails again and again is left alone, for longer and
// longer, until a probe works; the same in cycles and outside of them.
func TestBreaker(t *testing.T) {
	for _, shards := range []int{0, 2} {
		w := newWorld(3)
		clk := clock.NewStep(time.Unix(0, 0))
		broken, recovered := true, 0
		scope := map[bool]string{true: "node", false: "cluster"}[shards > 0]
		m := &wire.Manifest{Points: wire.ManifestPoints{Filter: &wire.ManifestPoint{Scope: scope}, PreEnqueue: &wire.ManifestPoint{}, PreScore: nil}}
		p, err := wasm.New(t.Context(), wasm.Config{
			Name: "guest", Shards: shards, Breaker: wasm.BreakerConfig{Faults: 3, Backoff: time.Second, MaxBackoff: 3 * time.Second},
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
		// cycle says what the filter did: c called and fine, f faulted, o not called.
		cycle := func() string {
			before := p.Calls()
			v := filter(p, w.cycle(incoming("a", "p", 0)), w.rows())
			p.Settle()
			switch {
			case v.Codes[0] == abi.Success:
				return "c"
			case p.Calls() > before:
				return "f"
			case !strings.Contains(v.Texts(0)[0], "the plugin is not called until 1970-01-01T00:00:0"):
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
		if at, ok := p.RetryAt(); !ok || !at.Equal(time.Unix(1, 0)) {
			t.Errorf("retry at %v, %v", at, ok)
		}
		statuses := make([]*plugin.Status, 1)
		p.PreEnqueue([]*state.Pod{incoming("a", "q", 0)}, statuses)
		if f, ok := wasm.AsFault(statuses[0].AsError()); !ok || f.Kind != wasm.BreakerOpen || f.Point != abi.PreEnqueue {
			t.Errorf("another point: %v", statuses[0].AllReasons())
		}
		clk.Advance(time.Second)
		cycles(2, "fo") // the probe fails
		clk.Advance(time.Second)
		cycles(1, "o") // twice as long
		clk.Advance(time.Second)
		cycles(2, "fo")
		if at, _ := p.RetryAt(); !at.Equal(time.Unix(6, 0)) { // the most
			t.Errorf("retry at %v", at)
		}
		clk.Advance(3 * time.Second)
		broken = false
		cycles(3, "ccc")
		if _, ok := p.RetryAt(); ok || recovered != 1 {
			t.Errorf("retry %v, recovered %d times", ok, recovered)
		}
		broken = true
		cycles(4, "fffo")
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}
