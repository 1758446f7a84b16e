package breaker_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// bench is a breaker that opens after two faults in a row.
type bench struct {
	*breaker.Breaker
	t         *testing.T
	now       time.Time
	recovered int
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, now: time.Unix(0, 0)}
	b.Breaker = breaker.New(breaker.Config{Faults: 2, Backoff: time.Second, MaxBackoff: time.Minute}, breaker.Deps{
		Now: func() time.Time { return b.now }, RestartFuel: 500, Log: slog.New(slog.DiscardHandler), Recovered: func() { b.recovered++ },
	})
	return b
}

// call makes calls for namespaces and reports each as w (well), f (faulted), or o (not made: open).
func (b *bench) call(works bool, namespaces ...string) string {
	var out strings.Builder
	for _, namespace := range namespaces {
		if !b.Allow(namespace) {
			if b.OpenFault(namespace, abi.Filter).Kind != fault.BreakerOpen {
				b.t.Errorf("%s: no fault", namespace)
			}
			out.WriteByte('o')
			continue
		}
		var f *fault.Fault
		if out.WriteByte("fw"[map[bool]int{true: 1}[works]]); !works {
			f = fault.New(fault.Fault{Point: abi.Filter, Kind: fault.Trap, Detail: "unreachable"})
		}
		b.Done(namespace, breaker.OutcomeOf(abi.Filter, f, 0, 0))
	}
	return out.String()
}

func (b *bench) expect(got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("the calls ended %s, want %s", got, want)
	}
}

// TestOneNamespace: pods of one namespace that make a plugin fail keep it from nobody else.
func TestOneNamespace(t *testing.T) {
	b := newBench(t)
	b.expect(b.call(true, "good"), "w")
	b.expect(b.call(false, "bad", "bad", "bad"), "ffo")
	b.expect(b.call(true, "good", "new"), "ww")
	if s := b.Status(); s.State != breaker.Closed || len(s.Namespaces) != 1 || s.Namespaces[0].Namespace != "bad" || s.Namespaces[0].State != breaker.Open {
		t.Errorf("status %+v", s)
	}
	if _, open := b.RetryAt("good"); open || b.IsOpen("new") || !b.IsOpen("bad") {
		t.Error("it is open for others")
	}
	if text := b.OpenFault("bad", abi.Filter).Error(); !strings.Contains(text, "namespace bad") {
		t.Errorf("the fault says %s", text)
	}
	b.now = b.now.Add(time.Second)
	b.expect(b.call(false, "bad", "bad"), "fo") // a probe
	b.now = b.now.Add(2 * time.Second)
	b.expect(b.call(true, "bad", "bad"), "ww")
	if b.recovered != 1 {
		t.Errorf("recovered %d times", b.recovered)
	}
}

// TestEverybody: a plugin that fails for two namespaces, and lately works for none, is called for nobody. Namespaces without
// faults have probes first, one every second; one that works ends it.
func TestEverybody(t *testing.T) {
	b := newBench(t)
	b.expect(b.call(false, "a", "a"), "ff")
	b.expect(b.call(false, "b"), "f") // open for a alone
	b.expect(b.call(false, "b"), "f")
	b.expect(b.call(false, "a", "b", "c", "d"), "oooo")
	if s := b.Status(); s.State != breaker.Open || len(s.Namespaces) != 2 {
		t.Errorf("status %+v", s)
	}
	if text := b.OpenFault("c", abi.Filter).Error(); !strings.Contains(text, "any namespace") {
		t.Errorf("the fault says %s", text)
	}
	want := []breaker.Retry{{At: time.Unix(1, 0)}, {Namespace: "a", At: time.Unix(1, 0)}, {Namespace: "b", At: time.Unix(1, 0)}}
	if got := b.Retries(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("retries %v, want %v", got, want)
	}
	b.now = b.now.Add(time.Second)
	b.expect(b.call(false, "c", "d"), "fo") // one of those without faults
	b.expect(b.call(false, "a", "b"), "ff")
	b.now = b.now.Add(time.Second)
	b.expect(b.call(true, "d", "e"), "ww") // it works for d, so e needs no turn
	b.expect(b.call(true, "a", "b", "c"), "oow")
	b.now = b.now.Add(time.Second)
	b.expect(b.call(true, "a", "b"), "ww")
	if s := b.Status(); s.State != breaker.Closed || len(s.Namespaces) != 0 || len(b.Retries()) > 0 {
		t.Errorf("status %+v", s)
	}
}

// TestLastCall: a namespace whose last call was well keeps the breaker from opening for everybody; one fault, and it does not.
func TestLastCall(t *testing.T) {
	b := newBench(t)
	b.expect(b.call(true, "good"), "w")
	b.expect(b.call(false, "a", "a", "b", "b"), "ffff")
	b.expect(b.call(true, "new", "good"), "ww")
	b.expect(b.call(false, "new"), "f")
	b.expect(b.call(true, "good"), "w")
	b.expect(b.call(false, "good"), "f")
	b.expect(b.call(false, "good", "other"), "oo")
}

// TestManyNamespaces: what a breaker knows is bounded. It forgets namespaces for which it is closed first, and if it is open
// for all that it knows, the others are as one.
func TestManyNamespaces(t *testing.T) {
	b := newBench(t)
	for i := range 2000 {
		b.call(true, fmt.Sprint("well-", i))
	}
	for i := range 255 {
		b.expect(b.call(false, fmt.Sprint("bad-", i), fmt.Sprint("bad-", i)), "ff")
	}
	for i := range 2000 {
		b.expect(b.call(true, fmt.Sprint("well-", i)), "w")
	}
	if s := b.Status(); len(s.Namespaces) != 255 || s.State != breaker.Closed {
		t.Errorf("open for %d namespaces, %s", len(s.Namespaces), s.State)
	}
	b.expect(b.call(false, "well-1999", "well-1999", "x", "y"), "fooo")
	b.now = b.now.Add(time.Second)
	b.expect(b.call(false, "x", "y"), "fo")
	b.now = b.now.Add(2 * time.Second)
	b.expect(b.call(true, "y", "x", "z"), "www")
	if len(b.Carried(nil)) > 256<<10 {
		t.Errorf("it carries on %d bytes", len(b.Carried(nil)))
	}
}

// TestStartsOfNamespaces: starts after faults of one namespace use the fuel of no other.
func TestStartsOfNamespaces(t *testing.T) {
	b := newBench(t)
	f := fault.New(fault.Fault{Point: abi.Filter, Kind: fault.Trap})
	b.Done("bad", breaker.OutcomeOf(abi.Filter, f, 0, 600))
	if !b.Overspent("bad") || b.Overspent("good") || b.Affords("bad", 1) || !b.Affords("good", 500) {
		t.Errorf("overspent %t, %t", b.Overspent("bad"), b.Overspent("good"))
	}
}

// TestBesideAnotherPoint: a point that works, however often it is called, changes nothing for one that fails: neither when
// the breaker opens for it, nor for how long, nor does it end a probe.
func TestBesideAnotherPoint(t *testing.T) {
	for _, c := range []struct {
		hints, every, used, faults int // every: of so many cycles one works
	}{
		{0, 5, 0, 25}, {1, 5, 0, 25}, {100, 5, 0, 25}, {1000, 5, 0, 25}, // a fault weighs 1
		{0, 5, 10, 13}, {100, 5, 10, 13}, // 2
		{0, 5, 50, 5}, {100, 5, 50, 5}, // 6
		{0, 5, 100, 3}, {100, 5, 100, 3}, {100, 2, 100, 3}, // 11
		{100, 4, 0, 25}, {0, 2, 0, 25},
	} {
		b := breaker.New(breaker.Config{Faults: 5}, breaker.Deps{
			Now: func() time.Time { return time.Unix(0, 0) }, CycleFuel: 100, RestartFuel: 500, Log: slog.New(slog.DiscardHandler),
		})
		cycle := func(i int) (faulted bool) {
			var f *fault.Fault
			if i%c.every > 0 {
				f = fault.New(fault.Fault{Point: abi.Filter, Kind: fault.OutOfFuel})
			}
			var all breaker.Cycle
			all.Add(abi.PreFilter, nil, nil, 0)
			all.Add(abi.Filter, nil, f, int64(c.used))
			b.Done("a", all.Take())
			return f != nil
		}
		faults := 0
		for i := 0; !b.IsOpen("a") && i < 1000; i++ {
			if cycle(i) {
				faults++
			}
			for range c.hints {
				b.Done("a", breaker.OutcomeOf(abi.Hint, nil, 0, 0))
			}
		}
		if faults != c.faults {
			t.Errorf("%+v: it opened after %d faults", c, faults)
		}
	}
	b := newBench(t)
	for i := range 4 {
		b.now = b.now.Add(time.Minute)
		for range 3 - min(i, 2) { // two in a row, later a probe
			b.call(false, "a")
		}
		if got, _ := b.RetryAt("a"); got.Sub(b.now) != time.Second<<i {
			t.Errorf("it opened for %v, want %v", got.Sub(b.now), time.Second<<i)
		}
		b.now = b.now.Add(time.Minute)
		b.Allow("a")
		for range 1000 {
			b.Done("a", breaker.OutcomeOf(abi.Hint, nil, 0, 0))
		}
		if s := b.Status().Namespaces; len(s) != 1 || s[0].State != breaker.HalfOpen {
			t.Errorf("hints ended a probe: %+v", s)
		}
	}
	b.expect(b.call(true, "a", "a"), "ww")
	if b.Status().State != breaker.Closed {
		t.Error("a call at the point that failed does not end the probe")
	}
}
