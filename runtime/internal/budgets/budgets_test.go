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

// rates has no bound of a namespace that matters here.
func rates(n int) budgets.Rates { return budgets.Rates{Own: n, All: 100} }

// TestTurns: what is over the budget waits, the longest waiting first, and nobody overtakes.
func TestTurns(t *testing.T) {
	b := budgets.New()
	take := func(now time.Time, pod string, want bool) {
		t.Helper()
		if got := b.Take(now, payer("p"), rates(2), pod, true); got != want {
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
	// What is returned is there at once, and not for a pod that fails.
	b.Forget("b")
	b.Return("b")
	if got := b.Due(later); len(got) > 0 {
		t.Errorf("after one has failed, due are %v", got)
	}
	b.Return("a")
	if got := b.Due(later); !reflect.DeepEqual(got, []string{"e"}) {
		t.Errorf("after one was bound, due are %v", got)
	}
	take(later, "f", false)
	if got, want := b.Counts()[budgets.Pending], (budgets.Counts{Paid: 4, Held: 4}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if b.Take(start, payer("p"), rates(2), "g", false) || b.Waiting()[payer("p")] != 1 {
		t.Errorf("%v wait", b.Waiting())
	}
	if !b.Take(start, payer("q"), rates(2), "g", true) {
		t.Error("another plugin has a budget of its own")
	}
}

// TestNamespace: all ways of all plugins of a namespace have one budget, besides their own, and take turns.
func TestNamespace(t *testing.T) {
	b, all := budgets.New(), budgets.Rates{Own: 3, All: 4}
	names := []string{"a", "b", "c"}
	paid := 0
	for i := range 6 {
		for _, name := range names {
			if b.Take(start, payer(name), all, fmt.Sprint(name, i), true) {
				paid++
			}
		}
	}
	if paid != all.All {
		t.Errorf("%d attempts were paid for, want %d", paid, all.All)
	}
	if !b.Take(start, budgets.Payer{Plugin: "a", Namespace: "other"}, all, "o", true) {
		t.Error("another namespace has a budget of its own")
	}
	var due []string
	for now := start; len(due) < 6; {
		at, ok := b.Next()
		if !ok || !at.Equal(now.Add(15*time.Second)) {
			t.Fatalf("the next turn is at %v, %v, after that at %v", at, ok, now)
		}
		now = at
		due = append(due, b.Due(now)...)
	}
	if want := []string{"b1", "c1", "a2", "b2", "c2", "a3"}; !reflect.DeepEqual(due, want) {
		t.Errorf("due are %v, want %v", due, want)
	}
}

// TestBudgetHolds: in no minute more attempts are paid for than two budgets, but for pods that were bound, and a book that is
// restored goes on as the one that it was.
func TestBudgetHolds(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		const rate, all = 5, 8
		plugins := []string{"p", "q", "r"}
		b, now := budgets.New(), start
		var paid []time.Time
		by := make(map[string][]time.Time)
		pay := func(plugin string) {
			paid = append(paid, now)
			by[plugin] = append(by[plugin], now)
		}
		of := make(map[string]string) // the plugin for which a pod waits
		for range rapid.IntRange(1, 200).Draw(t, "operations") {
			pod := fmt.Sprint("p", rapid.IntRange(0, 20).Draw(t, "pod"))
			switch rapid.IntRange(0, 6).Draw(t, "operation") {
			case 0, 1, 2:
				if _, _, held := b.Held(pod); held {
					break
				}
				b.Forget(pod)
				of[pod] = rapid.SampledFrom(plugins).Draw(t, "plugin")
				if b.Take(now, payer(of[pod]), budgets.Rates{Own: rate, All: all}, pod, rapid.Bool().Draw(t, "hold")) {
					pay(of[pod])
				}
			case 3:
				now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			case 4:
				if _, _, held := b.Held(pod); !held {
					b.Forget(pod)
				}
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
			for _, pod := range b.Due(now) {
				pay(of[pod])
			}
			if at, ok := b.Next(); ok && !at.After(now) {
				t.Fatalf("the next turn is at %v, which is over at %v", at, now)
			}
			n := 0
			for _, waiting := range b.Waiting() {
				n += waiting
			}
			if n > 21 {
				t.Fatalf("%d pods wait", n)
			}
		}
		most := func(paid []time.Time, rate int) {
			for i := range paid {
				if j := i + 2*rate; j < len(paid) && paid[j].Sub(paid[i]) < time.Minute {
					t.Fatalf("%d attempts in %v", 2*rate+1, paid[j].Sub(paid[i]))
				}
			}
		}
		most(paid, all)
		for _, times := range by {
			most(times, rate)
		}
	})
}
