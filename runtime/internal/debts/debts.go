// Package debts keeps account of preemptions for pods to which plugins in WebAssembly apply. A guest can have pods removed
// by what it answers, and then keep its own pod from the room: so what was removed is owed until the pod is bound.
//
//	open ──▶ owed ── the pod is bound ──▶ paid: the next pause is half as long
//	  ▲       │
//	  └───────┼── its pause is over ───▶ decayed: the next pause is twice as long
//	          └── nobody left ─────────▶ void
package debts

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// pause is how long the first unpaid debt of a debtor is owed.
	pause = 5 * time.Minute
	// doublings bounds the growth of the pause, to some eleven hours.
	doublings = 7
	// memory is how long a debtor is remembered that owes nothing.
	memory = 24 * time.Hour
	// perPod is how many preemptions for one pod are not owed yet, where all namespaces share the plugin.
	perPod = 3
)

// Debtor is who owes: all pods of a namespace, or the pod of a UID.
type Debtor struct{ Namespace, Pod string }

// allowed is how many preemptions it takes until the debtor owes.
func (d Debtor) allowed() int {
	if d.Namespace != "" {
		return 1
	}
	return perPod
}

// Debt is the account of a debtor.
type Debt struct {
	Debtor
	// For is the UID of the pod for which others last made room, and Name its namespace and name.
	For, Name string
	// Made is the number of preemptions since the debtor last owed nothing.
	Made int
	// Step is how often debts decayed more than they were paid.
	Step int
	// Until is when the debt decays; zero if nothing is owed. Since is the time of the last change.
	Until, Since time.Time
}

// Owed reports whether the debtor may have no more pods removed.
func (d *Debt) Owed() bool { return !d.Until.IsZero() }

// Book has the accounts. It belongs to one goroutine.
type Book struct {
	of     map[Debtor]*Debt
	counts Counts
}

// Counts is how many debts were opened, and how they ended.
type Counts struct{ Opened, Paid, Decayed, Forgiven, Void int64 }

// New returns an empty book.
func New() *Book { return &Book{of: make(map[Debtor]*Debt)} }

// Counts returns what has happened so far.
func (b *Book) Counts() Counts { return b.counts }

// Known reports whether a debtor has an account.
func (b *Book) Known(who Debtor) bool { return b.of[who] != nil }

// Owed returns what a debtor owes; nil if that is nothing. It must not be changed.
func (b *Book) Owed(who Debtor) *Debt {
	if d := b.of[who]; d != nil && d.Owed() {
		return d
	}
	return nil
}

// Open enters a preemption for a pod.
func (b *Book) Open(now time.Time, who Debtor, uid, name string) {
	d := b.of[who]
	if d == nil {
		d = &Debt{Debtor: who}
		b.of[who] = d
	}
	d.For, d.Name, d.Since = uid, name, now
	if d.Made++; d.Made >= who.allowed() {
		d.Until = now.Add(pause << min(d.Step, doublings))
		b.counts.Opened++
	}
}

// Pay closes the accounts of a pod that is bound. It reports whether something was owed.
func (b *Book) Pay(now time.Time, namespace, uid string) (owed bool) {
	delete(b.of, Debtor{Pod: uid})
	d := b.of[Debtor{Namespace: namespace}]
	if d == nil || d.For != uid {
		return false
	}
	if owed = d.Owed(); owed {
		b.counts.Paid++
	}
	d.For, d.Name, d.Made, d.Until, d.Since = "", "", 0, time.Time{}, now
	if d.Step = max(0, d.Step-1); d.Step == 0 {
		delete(b.of, d.Debtor)
	}
	return owed
}

// Void takes back the last preemption of a debtor, if it was for that pod. It reports whether something was owed.
func (b *Book) Void(who Debtor, uid string) (owed bool) {
	d := b.of[who]
	if d == nil || d.For != uid || d.Made == 0 {
		return false
	}
	if d.Made--; d.Made < who.allowed() && d.Owed() {
		owed, d.Until = true, time.Time{}
		b.counts.Void++
	}
	if d.Made == 0 && d.Step == 0 {
		delete(b.of, who)
	}
	return owed
}

// Gone closes the account of a pod that is deleted; its namespace still owes.
func (b *Book) Gone(uid string) { delete(b.of, Debtor{Pod: uid}) }

// Forgive forgets a debtor. It reports whether something was owed.
func (b *Book) Forgive(who Debtor) bool {
	owed := b.Owed(who) != nil
	if owed {
		b.counts.Forgiven++
	}
	delete(b.of, who)
	return owed
}

// Decay ends the debts that are due and returns who owed them, sorted.
func (b *Book) Decay(now time.Time) (out []Debtor) {
	for who, d := range b.of {
		switch {
		case d.Owed() && !now.Before(d.Until):
			d.Step, d.Made, d.Until, d.Since = min(d.Step+1, doublings), who.allowed()-1, time.Time{}, now
			b.counts.Decayed++
			out = append(out, who)
		case !d.Owed() && who.Namespace != "" && now.Sub(d.Since) >= memory:
			delete(b.of, who)
		}
	}
	slices.SortFunc(out, compare)
	return out
}

// Next returns when the next debt decays; false if none is owed.
func (b *Book) Next() (at time.Time, ok bool) {
	for _, d := range b.of {
		if d.Owed() && (!ok || d.Until.Before(at)) {
			at, ok = d.Until, true
		}
	}
	return at, ok
}

// All returns the accounts, sorted.
func (b *Book) All() (out []Debt) {
	for _, who := range slices.SortedFunc(maps.Keys(b.of), compare) {
		out = append(out, *b.of[who])
	}
	return out
}

// Restore sets the account of a debtor.
func (b *Book) Restore(d Debt) { b.of[d.Debtor] = &d }

func compare(a, b Debtor) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod))
}
