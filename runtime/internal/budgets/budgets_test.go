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
	if at, ok := b.Next(start); !ok || !at.Equal(start.Add(30*time.Second)) {
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
		at, ok := b.Next(now)
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

// TestRates: payers of a namespace whose grants give it different budgets take turns, and an attempt costs by the grant of its payer.
func TestRates(t *testing.T) {
	for _, at := range []struct {
		low, high           budgets.Rates
		leastLow, leastHigh int // in 20 minutes
	}{
		{budgets.Rates{Own: 30, All: 30}, budgets.Rates{Own: 60, All: 60}, 400, 400},
		{budgets.Rates{Own: 1, All: 1}, budgets.Rates{Own: 30, All: 30}, 10, 300},
		{budgets.Rates{Own: 30, All: 1}, budgets.Rates{Own: 30, All: 30}, 10, 300},
		{budgets.Rates{Own: 7, All: 11}, budgets.Rates{Own: 13, All: 60000}, 7 * 20, 13 * 20},
	} {
		const minutes = 20
		b := budgets.New()
		rates, paid := map[string]budgets.Rates{"low": at.low, "high": at.high}, make(map[string]int)
		take := func(now time.Time, name string) {
			for b.Take(now, payer(name), rates[name], name, true) {
				paid[name]++
			}
		}
		take(start, "high")
		take(start, "low")
		for now, steps := start, 0; ; steps++ {
			next, ok := b.Next(now)
			if !ok || !next.After(now) || steps > 100_000 {
				t.Fatalf("%v: the next turn is at %v, %v, after that at %v", at, next, ok, now)
			}
			if now = next; now.After(start.Add(minutes * time.Minute)) {
				break
			}
			due := b.Due(now)
			if len(due) == 0 {
				t.Fatalf("%v: nobody is due at %v, when the next turn is", at, now)
			}
			for _, name := range due {
				paid[name]++
				take(now, name)
			}
		}
		part := 0.0 // of the namespace's budget of all minutes
		for name, n := range paid {
			part += float64(n) / float64(rates[name].All) / (minutes + 1)
		}
		if paid["low"] < at.leastLow || paid["high"] < at.leastHigh || part > 1.001 {
			t.Errorf("%v: paid for %v, %v of the budget", at, paid, part)
		}
	}
}

// TestQueueOfNamespace: a payer for which no pod waits does not overtake those of others that wait for the namespace's budget.
// Those that wait for a budget of their own do not hold it up.
func TestQueueOfNamespace(t *testing.T) {
	b, r := budgets.New(), budgets.Rates{Own: 2, All: 3}
	take := func(now time.Time, name, pod string, want bool) {
		t.Helper()
		if got := b.Take(now, payer(name), r, pod, true); got != want {
			t.Errorf("%s of %s: taken %v, want %v", pod, name, got, want)
		}
	}
	take(start, "p", "p1", true)
	take(start, "p", "p2", true)
	take(start, "p", "p3", false)
	take(start, "q", "q1", true)
	take(start, "q", "q2", false)
	later := start.Add(20 * time.Second)
	take(later, "r", "r1", false)
	if got := b.Due(later); !reflect.DeepEqual(got, []string{"r1"}) {
		t.Errorf("due are %v", got)
	}
}

// TestReturn: what is returned is what was paid, at the rates of that time.
func TestReturn(t *testing.T) {
	many, one := budgets.Rates{Own: 60, All: 60}, budgets.Rates{Own: 1, All: 1}
	for _, restored := range []bool{false, true} {
		b := budgets.New()
		for i := range 60 {
			b.Take(start, payer("p"), many, fmt.Sprint("p", i), true)
		}
		b.Take(start, payer("p"), one, "q", true)
		if restored {
			from := b
			b = budgets.New()
			for _, a := range from.All() {
				b.Restore(a)
			}
		}
		for i := range 60 {
			if due := b.Due(start); len(due) > 0 {
				t.Fatalf("restored %v: %d of 60 attempts were returned, and due are %v", restored, i, due)
			}
			b.Return(fmt.Sprint("p", i))
		}
		if due := b.Due(start); !reflect.DeepEqual(due, []string{"q"}) {
			t.Errorf("restored %v: all was returned, and due are %v", restored, due)
		}
	}
}

// TestUnbounded: a namespace without a budget does not bound its plugins.
func TestUnbounded(t *testing.T) {
	b := budgets.New()
	for i := range 100 {
		if !b.Take(start, payer(fmt.Sprint("p", i)), budgets.Rates{Own: 1}, fmt.Sprint(i), false) {
			t.Fatalf("after %d attempts of as many plugins none is left", i)
		}
	}
	b.Return("0")
	if got := b.Take(start, payer("p1"), budgets.Rates{Own: 1}, "1", true); got || b.Waiting()[payer("p1")] != 1 {
		t.Errorf("a plugin without a budget left: taken %v, %v wait", got, b.Waiting())
	}
	later := start.Add(time.Minute) // it is the turn of the pod that waits
	if !b.Take(later, payer("q"), budgets.Rates{Own: 1}, "c", true) {
		t.Error("a plugin waits for another one, with which it shares no budget")
	}
	if b.Take(later, payer("p1"), budgets.Rates{Own: 1}, "d", true) {
		t.Error("a pod overtakes one of the same plugin")
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
				rates := budgets.Rates{Own: rate, All: rapid.SampledFrom([]int{all, all / 2}).Draw(t, "all")}
				if b.Take(now, payer(of[pod]), rates, pod, rapid.Bool().Draw(t, "hold")) {
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
			if at, ok := b.Next(now); ok && !at.After(now) {
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
