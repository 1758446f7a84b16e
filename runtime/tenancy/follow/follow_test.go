package follow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/internal/eventually"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// expect compares the last plugins that the scheduler got.
func (w *world) expect(want map[string]string) {
	w.t.Helper()
	if got := w.now(); !maps.Equal(got, want) {
		w.t.Errorf("attached %v, want %v", got, want)
	}
}

// TestSync: a module is fetched, compiled and attached; what waits for it holds its pods.
func TestSync(t *testing.T) {
	w := newWorld(t)
	fetch, compile := make(chan struct{}), make(chan struct{})
	w.fetch = func(context.Context, module.Reference) error { <-fetch; return nil }
	w.compile = func(context.Context, string) error { <-compile; return nil }
	w.apply("a", "pool", "1")
	_ = w.follower.Sync(t.Context())
	w.expect(map[string]string{"a/pool": tenancy.NoGrant})
	w.grant(1)
	_ = w.follower.Sync(t.Context())
	w.expect(map[string]string{"a/pool": tenancy.Fetching})
	if last := w.mu.attached[len(w.mu.attached)-1][0]; !last.Holds || !slices.Equal(w.mu.known, []string{"1 after 1", "1 after 2"}) {
		t.Errorf("its pods do not wait, or not in the scheduler: %q", w.mu.known)
	}
	close(fetch)
	<-w.follower.ready
	_ = w.follower.Sync(t.Context())
	w.expect(map[string]string{"a/pool": Compiling})
	close(compile)
	<-w.follower.ready
	_ = w.follower.Sync(t.Context())
	w.expect(map[string]string{"a/pool": "sha256:1"})
	w.apply("a", "pool", "2")
	_ = w.follower.Sync(t.Context())
	w.expect(map[string]string{"a/pool": tenancy.Fetching})
}

// TestStandAlone: a module that cannot be fetched or compiled keeps no other from running, is
// tried again, and is not tried all the time.
func TestStandAlone(t *testing.T) {
	w := newWorld(t)
	w.grant(1)
	var bad atomic.Bool
	bad.Store(true)
	w.fetch = func(_ context.Context, ref module.Reference) error {
		if ref.Tenant == "a" && bad.Load() {
			return errNo
		}
		return nil
	}
	w.compile = func(_ context.Context, name string) error {
		if name == "b/p" && bad.Load() {
			return errNo
		}
		return nil
	}
	for _, ns := range []string{"a", "b", "c"} {
		w.apply(ns, "p", "1")
	}
	w.sync()
	w.sync()
	w.expect(map[string]string{"a/p": tenancy.ModuleRefused, "b/p": assembly.Refused, "c/p": "sha256:1"})
	if n := len(w.mu.fetched); n != 3 {
		t.Errorf("%d fetches", n)
	}
	bad.Store(false)
	w.clock.Advance(firstRepeat)
	w.sync()
	w.expect(map[string]string{"a/p": "sha256:1", "b/p": "sha256:1", "c/p": "sha256:1"})
}

// TestBusyHost: that the host is too busy to compile a module is no refusal of it. Its pods wait, a rollout does not end, and the
// module is compiled again later.
func TestBusyHost(t *testing.T) {
	w := newWorld(t)
	w.grant(1)
	var busy atomic.Bool
	busy.Store(true)
	w.compile = func(context.Context, string) error {
		if busy.Load() {
			return fmt.Errorf("compile module: %w", &sandbox.BusyError{Used: time.Second, Time: time.Minute, Setting: "--compile-time"})
		}
		return nil
	}
	w.apply("a", "p", "1")
	w.sync()
	w.sync()
	w.expect(map[string]string{"a/p": Compiling})
	refusal := w.follower.Result().refusal(0)
	if refusal == nil || refusal.Reason != Compiling || !strings.Contains(refusal.Message, "the host is busy, which is not the module's fault") {
		t.Errorf("it says %+v", refusal)
	}
	busy.Store(false)
	w.clock.Advance(firstRepeat)
	w.sync()
	w.expect(map[string]string{"a/p": "sha256:1"})
}

// TestSlow: while the modules of some tenants take for ever to compile, others are attached.
func TestSlow(t *testing.T) {
	w := newWorld(t)
	w.grant(10)
	never := make(chan struct{})
	defer close(never)
	w.compile = func(_ context.Context, name string) error {
		if name[0] == 's' {
			<-never
		}
		return nil
	}
	for i := range 5 {
		for n := range 10 {
			w.apply(fmt.Sprint("slow-", i), fmt.Sprint(n), "1")
		}
	}
	w.apply("quick", "p", "1")
	eventually.Holds(t, "quick/p is attached", func() bool {
		_ = w.follower.Sync(t.Context())
		return w.now()["quick/p"] == "sha256:1"
	})
}

// TestFair: a tenant with many changes has only some of them carried out, one at a time, and
// those of others are not behind them.
func TestFair(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.grant(64)
	for i := range 60 {
		w.apply("many", fmt.Sprintf("p%02d", i), "1")
	}
	w.apply("one", "p", "1")
	w.sync()
	if at := slices.Index(w.mu.fetched, "one/p"); at < 0 || at > workers {
		t.Errorf("fetched in the order %v", w.mu.fetched)
	}
	if w.mu.most != 1 || len(w.mu.fetched) != changesAtOnce+1 {
		t.Errorf("%d at once, and %d in all: %v", w.mu.most, len(w.mu.fetched), w.mu.fetched)
	}
	if got := w.now(); got["many/p59"] != tenancy.Fetching || got["many/p00"] != "sha256:1" {
		t.Errorf("attached %v", got)
	}
	last := w.mu.attached[len(w.mu.attached)-1]
	if a, b := last[0].Module.Loaded, last[1].Module.Loaded; a == b || a.Manifest != b.Manifest {
		t.Error("plugins of the same module do not share it")
	}
	w.clock.Advance(2 * changePause)
	w.sync()
	if len(w.mu.fetched) != changesAtOnce+3 {
		t.Errorf("fetched %v", w.mu.fetched)
	}
}

// TestFlood: an object that changes 100 times a second for ten seconds is looked at ten times, and
// few of its versions are fetched. The other tenant's plugin stays as it is.
func TestFlood(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.grant(1)
	w.apply("quiet", "p", "1")
	w.apply("loud", "p", "0")
	w.sync()
	before := len(w.mu.attached)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.follower.Run(ctx)
	}()
	for i := range 1000 {
		w.apply("loud", "p", fmt.Sprint(i+1))
		signal(w.changed)
		time.Sleep(time.Millisecond) // lets the follower see it
		w.clock.Advance(10 * time.Millisecond)
	}
	cancel()
	<-ended
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.mu.attached) - before; n < 1 || n > 11 {
		t.Errorf("the scheduler was told %d times in ten seconds", n)
	}
	if n := len(w.mu.fetched); n > 2+changesAtOnce+1 {
		t.Errorf("%d fetches", n)
	}
	for _, all := range w.mu.attached[before:] {
		for _, x := range all {
			if x.Name == "quiet/p" && (x.Module == nil || x.Module.Loaded.Digest != digestOf("1")) {
				t.Errorf("the other tenant's plugin became %+v", x)
			}
		}
	}
}

// TestTenThousand: of a tenant's 10,000 plugins, only as many are fetched as the grant admits.
func TestTenThousand(t *testing.T) {
	w := newWorld(t)
	w.grant(2)
	for i := range 10_000 {
		w.apply("many", fmt.Sprintf("p%04d", i), "1")
	}
	w.apply("one", "p", "1")
	w.sync()
	got := w.now()
	if len(w.mu.fetched) != 3 || got["many/p0001"] != "sha256:1" || got["many/p0002"] != tenancy.TooManyPlugins || got["one/p"] != "sha256:1" {
		t.Errorf("fetched %v", w.mu.fetched)
	}
	// In status too, the one object of another tenant is not behind them.
	if w.follower.report(t.Context(), w.known); !slices.Contains(w.mu.written, "TenantPlugin one/p: True Running 1") || len(w.mu.written) != writesAtOnce {
		t.Errorf("written %q", w.mu.written)
	}
}

// TestNotAttached: while the scheduler cannot be given its plugins, those that it has stay, and pods wait
// for the others, from the start on.
func TestNotAttached(t *testing.T) {
	w := newWorld(t)
	w.grant(2)
	w.apply("a", "p", "1")
	w.mu.broken = "a/p"
	w.sync()
	if got := w.now()["a/p"]; got != assembly.Refused || !w.last()[0].Holds {
		t.Errorf("a/p is %q", got)
	}
	w.reports("PluginGrant all: True InForce", "TenantPlugin a/p: False NotRunnable")
	if got := w.mu.objects.TenantPlugins[0].Status.Conditions[0].Message; got != errTogether.Error() {
		t.Errorf("the error may name plugins of others: %s", got)
	}
	w.apply("b", "q", "1")
	w.sync()
	if got := w.now(); got["a/p"] != assembly.Refused || got["b/q"] != assembly.Refused {
		t.Errorf("attached are %q", got)
	}
	w.mu.broken = ""
	w.sync()
	w.mu.broken = "a/r"
	w.apply("a", "r", "1")
	w.sync()
	if got := w.now(); got["a/p"] != "sha256:1" || got["b/q"] != "sha256:1" || got["a/r"] != assembly.Refused {
		t.Errorf("attached are %q", got)
	}
	w.mu.broken = ""
	w.sync()
	if got := w.now()["a/r"]; got != "sha256:1" {
		t.Errorf("a/r is %q", got)
	}
}
