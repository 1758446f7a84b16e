package breaker_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// TestCarried: a breaker that resumes what another one carried on decides as that one, from any moment on.
func TestCarried(t *testing.T) {
	now := time.Unix(0, 0)
	deps := breaker.Deps{Now: func() time.Time { return now }, CycleFuel: 100, RestartFuel: 500, Log: slog.New(slog.DiscardHandler)}
	first := breaker.New(breaker.Config{}, deps)
	if c := first.Carried(nil); c != nil {
		t.Errorf("a new breaker carries on %s", c)
	}
	second := breaker.New(breaker.Config{}, deps)
	draw := rand.New(rand.NewPCG(1, 2))
	opened, everybody := 0, 0
	for i := range 6000 {
		now = now.Add(time.Duration(draw.IntN(500)) * time.Millisecond)
		namespace := []string{"a", "b", "c", "d"}[draw.IntN(4)]
		if carried := first.Carried(nil); carried != nil && draw.IntN(20) == 0 {
			second = breaker.New(breaker.Config{}, deps)
			released := map[string]time.Time{namespace: now.UTC()}
			if back, err := second.Resume(first.Carried(released)); err != nil || !maps.Equal(back, released) {
				t.Fatal(back, err)
			}
		}
		one, two := first.Carried(nil), second.Carried(nil)
		if first.Allow(namespace) != second.Allow(namespace) || first.Overspent(namespace) != second.Overspent(namespace) ||
			first.Affords(namespace, 100) != second.Affords(namespace, 100) || !bytes.Equal(one, two) ||
			!slices.EqualFunc(first.Retries(), second.Retries(), func(x, y breaker.Retry) bool { return x.Namespace == y.Namespace && x.At.Equal(y.At) }) {
			t.Fatalf("after %d calls: %s and %s", i, one, two)
		}
		opened = first.Status().Opened
		if r := first.Retries(); len(r) > 0 && r[0].Namespace == "" {
			everybody++
		}
		if first.IsOpen(namespace) {
			if a, b := first.OpenFault(namespace, abi.Filter), second.OpenFault(namespace, abi.Filter); a.Error() != b.Error() {
				t.Fatalf("%v and %v", a, b)
			}
			continue
		}
		var f *fault.Fault
		starts := int64(0)
		point := []abi.Point{abi.Filter, abi.Score}[draw.IntN(2)]
		if draw.IntN(1+i%7) == 0 || i/600%2 == 0 {
			f = fault.New(fault.Fault{Point: point, Kind: fault.Trap, Detail: "unreachable", Output: "o", Trace: "t"})
			starts = int64(draw.IntN(100))
		}
		used := int64(draw.IntN(30))
		first.Done(namespace, breaker.OutcomeOf(point, f, used, starts))
		second.Done(namespace, breaker.OutcomeOf(point, f, used, starts))
	}
	if opened < 10 || everybody < 10 {
		t.Errorf("it opened %d times, and was open for everybody at %d moments", opened, everybody)
	}
	for _, bad := range []string{``, `[]`, `{"namespaces": [{"state": 3}]}`, `{"namespaces": [{"faulted": [100]}]}`, `{"namespaces": [{"faulted": [-1]}]}`,
		`{"namespaces": [{"starts": [{"ago": 100}]}]}`, `{"namespaces": [{"starts": [{"fuel": -1}]}]}`, `{"namespaces": [{"closed": 101}]}`,
		`{"namespaces": [{"points": [{"ended": [{"ago": 100}]}]}]}`, `{"namespaces": [{"points": [{"ended": [{"fuel": -1}]}]}]}`,
		`{"namespaces": [{"points": [{"closed": -1}]}]}`, `{"namespaces": [{"points": [{"ended": [{"weight": 12}]}]}]}`,
		`{"namespaces": [{"points": [{"point": 99}]}]}`, `{"namespaces": [{"points": [{"point": 1}, {"point": 1}]}]}`, `{"namespaces": [{"by": 99}]}`,
		`{"namespaces": [{"streak": [` + "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1" + `]}]}`, `{"namespaces": [{"namespace": "a"}, {"namespace": "a"}]}`} {
		if _, err := first.Resume(json.RawMessage(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if _, err := first.Resume(json.RawMessage(`{"state": 1, "until": "2026-01-01T00:00:00Z", "lastAt": "2026-01-01T00:00:00Z"}`)); err != nil || len(first.Retries()) > 0 {
		t.Errorf("of an earlier version: %v, %v", err, first.Retries())
	}
}
