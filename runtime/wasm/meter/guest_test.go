package meter_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/berth-scheduler/berth/runtime/wasm/meter"
)

// buildGo compiles a package main for wasip1.
func buildGo(t testing.TB, pkg string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, pkg)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", pkg, err, out)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// goCalls are calls of testdata/guest.
func goCalls() []call {
	return []call{
		{"_initialize", nil}, {"fill", []uint64{3000}}, {"scan", []uint64{9000, 20 << 30}}, {"text", []uint64{400}},
		{"fib", []uint64{17}}, {"fill", []uint64{20_000}}, {"scan", []uint64{1000, 1 << 30}},
	}
}

// TestRestGoGuest: a Go guest does the same, down to each byte of its memory, with and
// without rewriting, and with the same fuel on both engines.
func TestRestGoGuest(t *testing.T) {
	module := buildGo(t, "./testdata/guest")
	rewritten, info := rewrite(t, module, meter.Config{MemoryMaxPages: pages})
	if !info.Resettable() {
		t.Errorf("a Go guest cannot be reset in place: %+v", info)
	}
	const fuel = 1 << 40
	outcomes := map[string]*outcome{}
	for _, e := range engines() {
		for name, i := range map[string]*meter.Info{"original": nil, "rewritten": info} {
			m := module
			if i != nil {
				m = rewritten
			}
			out, err := newCachedHost(t, e, kept(t)).run(m, i, fuel, goCalls())
			if err != nil {
				t.Fatal(err)
			}
			outcomes[string(e)+", "+name] = out
		}
	}
	first := outcomes["compiler, rewritten"]
	t.Logf("%d units for %q", fuel-first.Left, first.Calls)
	for name, other := range outcomes {
		if err := first.differs(other, name == "interpreter, rewritten"); err != nil {
			t.Errorf("compiler, rewritten; %s: %v", name, err)
		}
	}
}

// TestRestGoGuestIsStopped: by its fuel, and by its host.
func TestRestGoGuestIsStopped(t *testing.T) {
	rewritten, info := rewrite(t, buildGo(t, "./testdata/guest"), meter.Config{})
	h := newCachedHost(t, compiler, kept(t))
	for _, stop := range []bool{false, true} {
		g, err := h.guest(rewritten, info)
		if err != nil {
			t.Fatal(err)
		}
		g.grant(1 << 40)
		if _, trap := g.call("_initialize"); trap != "" {
			t.Fatal(trap)
		}
		want := meter.OutOfFuel
		if g.grant(1_000_000); stop {
			g.grant(1 << 60)
			want = meter.Stopped
			yields := h.yields.Load()
			go func() { // a deadline
				for h.yields.Load() < yields+10 {
					runtime.Gosched()
				}
				h.stop.Store(true)
			}()
		}
		if _, trap := g.call("spin"); g.status() != want {
			t.Errorf("%s %s, want %s", g.status(), trap, want)
		}
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
