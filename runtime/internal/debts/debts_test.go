package debts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/debts"
)

// TestPauses: an unpaid debt is owed twice as long as the one before it, up to a bound, and each paid one takes that back by
// one step.
func TestPauses(t *testing.T) {
	b, now, who := debts.New(), time.Unix(0, 0), debts.Debtor{Namespace: "ns"}
	var got []time.Duration
	open := func() {
		b.Open(now, who, "p", "ns/p")
		at, ok := b.Next()
		if d := b.Owed(who); !ok || d == nil || !d.Until.Equal(at) {
			t.Fatalf("at %v %+v is owed, until %v", now, d, at)
		}
		got = append(got, at.Sub(now))
	}
	for range 9 {
		open()
		at, _ := b.Next()
		if early := b.Decay(at.Add(-1)); len(early) > 0 {
			t.Fatalf("%v decayed too early", early)
		}
		if now = at; !slices.Equal(b.Decay(now), []debts.Debtor{who}) {
			t.Fatal("the debt has not decayed")
		}
	}
	for range 3 {
		open()
		if b.Pay(now, "ns", "another") || !b.Pay(now, "ns", "p") || b.Pay(now, "ns", "p") {
			t.Fatal("a debt is paid by the pod for which others made room, once")
		}
	}
	const want = "[5m0s 10m0s 20m0s 40m0s 1h20m0s 2h40m0s 5h20m0s 10h40m0s 10h40m0s 10h40m0s 5h20m0s 2h40m0s]"
	if fmt.Sprint(got) != want {
		t.Errorf("pauses %v, want %s", got, want)
	}
	if c := (debts.Counts{Opened: 12, Paid: 3, Decayed: 9}); b.Counts() != c {
		t.Errorf("counted %+v, want %+v", b.Counts(), c)
	}
	if b.Decay(now.Add(24*time.Hour - 1)); !b.Known(who) {
		t.Error("the debtor is forgotten too early")
	}
	if b.Decay(now.Add(24 * time.Hour)); b.Known(who) {
		t.Error("the debtor is not forgotten")
	}
}

// TestPaidLate: a pod that is bound after its debt has decayed takes back the step.
func TestPaidLate(t *testing.T) {
	b, now, who := debts.New(), time.Unix(0, 0), debts.Debtor{Namespace: "ns"}
	b.Open(now, who, "p", "ns/p")
	b.Decay(now.Add(5 * time.Minute))
	if b.Pay(now, "ns", "p") || b.Known(who) {
		t.Errorf("%+v stays", b.All())
	}
}

// TestThreeForAPod: a pod may have others removed three times, and once again whenever its debt has decayed.
func TestThreeForAPod(t *testing.T) {
	b, now, who := debts.New(), time.Unix(0, 0), debts.Debtor{Pod: "p"}
	for i := range 3 {
		if b.Owed(who) != nil {
			t.Fatalf("owed after %d preemptions", i)
		}
		b.Open(now, who, "p", "ns/p")
	}
	if b.Owed(who) == nil {
		t.Fatal("nothing is owed after three preemptions")
	}
	now = now.Add(5 * time.Minute)
	if b.Decay(now); b.Owed(who) != nil {
		t.Fatal("the debt has not decayed")
	}
	b.Open(now, who, "p", "ns/p")
	if d := b.Owed(who); d == nil || d.Until.Sub(now) != 10*time.Minute {
		t.Fatalf("%+v is owed after one more", d)
	}
	if b.Gone("p"); b.Known(who) {
		t.Error("a pod that is gone owes")
	}
	b.Open(now, who, "p", "ns/p")
	if b.Pay(now, "ns", "p"); b.Known(who) {
		t.Error("a pod that is bound owes")
	}
}

// TestForgive forgets pauses, too.
func TestForgive(t *testing.T) {
	b, now, who := debts.New(), time.Unix(0, 0), debts.Debtor{Namespace: "ns"}
	b.Open(now, who, "p", "ns/p")
	b.Decay(now.Add(5 * time.Minute))
	b.Open(now, who, "q", "ns/q")
	if !b.Forgive(who) || b.Forgive(who) || b.Known(who) {
		t.Error("the debt is not forgiven")
	}
}

// TestVoid: a preemption for which nobody left is as if it had not been.
func TestVoid(t *testing.T) {
	b, now, who, three := debts.New(), time.Unix(0, 0), debts.Debtor{Namespace: "ns"}, debts.Debtor{Pod: "p"}
	b.Open(now, who, "p", "ns/p")
	if b.Void(who, "q") || !b.Void(who, "p") || b.Void(who, "p") || b.Known(who) {
		t.Errorf("%+v stays", b.All())
	}
	for range 5 {
		b.Open(now, three, "p", "ns/p")
		b.Void(three, "p")
	}
	if b.Owed(three) != nil || b.Known(three) {
		t.Errorf("%+v stays", b.All())
	}
	b.Open(now, who, "p", "ns/p")
	b.Decay(now.Add(5 * time.Minute))
	if b.Void(who, "p") || !b.Known(who) {
		t.Error("a pause that is over is taken back")
	}
	if c := (debts.Counts{Opened: 2, Decayed: 1, Void: 1}); b.Counts() != c {
		t.Errorf("counted %+v, want %+v", b.Counts(), c)
	}
}
