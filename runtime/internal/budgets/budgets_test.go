package budgets_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/internal/budgets"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func payer(name string) budgets.Payer {
	return budgets.Payer{Plugin: name, Namespace: "team", Kind: budgets.Pending}
}

// TestTurns: what is over the budget waits, the longest waiting first, and nobody overtakes.
func TestTurns(t *testing.T) {
	b := budgets.New()
	take := func(now time.Time, pod string, want bool) {
		t.Helper()
		if got := b.Take(now, payer("p"), 2, pod, true); got != want {
			t.Errorf("%s: taken %v, want %v", pod, got, want)
		}
	}
	take(start, "a", true)
	take(start, "b", true)
	take(start, "c", false)
	take(start, "d", false)
	if at, ok := b.Next(); !ok || !at.Equal(start.Add(30*time.Second)) {
		t.Errorf("the next turn is at %v, %v", at, ok)
	}
	later := start.Add(30 * time.Second)
	take(later, "e", false)
	b.Forget("d")
	if got := b.Due(later); !reflect.DeepEqual(got, []string{"c"}) {
		t.Errorf("due are %v", got)
	}
	// What is returned is there at once, and is taken back if the pod fails after all.
	b.Placed("a")
	if got := b.Due(later); !reflect.DeepEqual(got, []string{"e"}) {
		t.Errorf("after one was placed, due are %v", got)
	}
	b.Settle(later, "a")
	take(later.Add(30*time.Second), "f", false)
	if at, ok := b.Next(); !ok || !at.Equal(later.Add(time.Minute)) {
		t.Errorf("after one was lost again, the next turn is at %v, %v", at, ok)
	}
	if got, want := b.Counts()[budgets.Pending], (budgets.Counts{Paid: 4, Held: 4}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if b.Take(start, payer("p"), 2, "g", false) || b.Waiting()[payer("p")] != 1 {
		t.Errorf("%v wait", b.Waiting())
	}
	if !b.Take(start, payer("q"), 2, "g", true) {
		t.Error("another plugin has a budget of its own")
	}
}

// TestBudgetHolds: in no minute more attempts are paid for than two budgets, but for pods that were placed, and a book that is
// restored goes on as the one that it was.
func TestBudgetHolds(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		const rate = 5
		b, now := budgets.New(), start
		var paid []time.Time
		for range rapid.IntRange(1, 200).Draw(t, "operations") {
			pod := fmt.Sprint("p", rapid.IntRange(0, 20).Draw(t, "pod"))
			switch rapid.IntRange(0, 6).Draw(t, "operation") {
			case 0, 1, 2:
				if _, _, held := b.Held(pod); held {
					break
				}
				b.Settle(now, pod)
				if b.Take(now, payer("p"), rate, pod, rapid.Bool().Draw(t, "hold")) {
					paid = append(paid, now)
				}
			case 3:
				now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			case 4:
				b.Settle(now, pod)
			case 5:
				b.Forget(pod)
			case 6:
				other := budgets.New()
				for _, a := range b.All() {
					other.Restore(a)
				}
				if got, want := other.All(), b.All(); !reflect.DeepEqual(got, want) {
					t.Fatalf("restored %+v, want %+v", got, want)
				}
				b = other
			}
			for range b.Due(now) {
				paid = append(paid, now)
			}
			if at, ok := b.Next(); ok && !at.After(now) {
				t.Fatalf("the next turn is at %v, which is over at %v", at, now)
			}
			if n := b.Waiting()[payer("p")]; n > 21 {
				t.Fatalf("%d pods wait", n)
			}
		}
		for i := range paid {
			if j := i + 2*rate; j < len(paid) && paid[j].Sub(paid[i]) < time.Minute {
				t.Fatalf("%d attempts in %v", 2*rate+1, paid[j].Sub(paid[i]))
			}
		}
	})
}
