package breaker_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// TestCarried: a breaker that resumes what another one carried on decides as that one, from any moment on.
func TestCarried(t *testing.T) {
	now := time.Unix(0, 0)
	deps := breaker.Deps{Now: func() time.Time { return now }, RestartFuel: 500, Log: slog.New(slog.DiscardHandler)}
	first := breaker.New(breaker.Config{}, deps)
	if c := first.Carried(); c != nil {
		t.Errorf("a new breaker carries on %s", c)
	}
	second := breaker.New(breaker.Config{}, deps)
	draw := rand.New(rand.NewPCG(1, 2))
	opened := 0
	for i := range 5000 {
		now = now.Add(time.Duration(draw.IntN(500)) * time.Millisecond)
		if carried := first.Carried(); carried != nil && draw.IntN(20) == 0 {
			second = breaker.New(breaker.Config{}, deps)
			if err := second.Resume(carried); err != nil {
				t.Fatal(err)
			}
		}
		one, two := first.Carried(), second.Carried()
		if first.Allow() != second.Allow() || first.Overspent() != second.Overspent() || first.Affords(100) != second.Affords(100) || !bytes.Equal(one, two) {
			t.Fatalf("after %d calls: %s and %s", i, one, two)
		}
		if opened = first.Status().Opened; first.IsOpen() {
			if a, b := first.OpenFault(abi.Filter), second.OpenFault(abi.Filter); a.Error() != b.Error() {
				t.Fatalf("%v and %v", a, b)
			}
			continue
		}
		var f *fault.Fault
		starts := int64(0)
		point := []abi.Point{abi.Filter, abi.Score}[draw.IntN(2)]
		if draw.IntN(1+i%7) == 0 {
			f = fault.New(fault.Fault{Point: point, Kind: fault.Trap, Detail: "unreachable", Output: "o", Trace: "t"})
			starts = int64(draw.IntN(100))
		}
		first.Done(breaker.OutcomeOf(point, f, starts))
		second.Done(breaker.OutcomeOf(point, f, starts))
	}
	if opened < 10 {
		t.Errorf("it opened %d times", opened)
	}
	for _, bad := range []string{``, `[]`, `{"state": 3}`, `{"faulted": [100]}`, `{"faulted": [-1]}`, `{"starts": [{"ago": 100}]}`, `{"starts": [{"fuel": -1}]}`, `{"closed": 101}`, `{"streak": [` + "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1" + `]}`} {
		if err := first.Resume(json.RawMessage(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
