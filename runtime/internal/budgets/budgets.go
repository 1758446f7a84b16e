// Package budgets keeps account of the attempts that plugins cause which are attached to namespaces. A guest can have its pods
// tried over and over by what it answers, and each attempt is work for which others wait. So each plugin may cause a number of
// attempts a minute for pods of a namespace; beyond that these pods wait for their turn, the longest waiting first.
//
//	Take ── within the budget ──▶ paid ── Placed ─▶ returned ── Settle: failed after all ─▶ paid
//	   └─── over it, or others wait ─▶ held ── Due ─▶ paid
package budgets

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Kind is what causes attempts.
type Kind string

const (
	// Pending are Pending verdicts, after which an event retries a pod without backoff.
	Pending Kind = "pending"
	// Wakeups are hints, and errors, after which a pod is retried.
	Wakeups Kind = "wakeups"
	// Activations are pods that a plugin asks to have activated.
	Activations Kind = "activations"
)

const (
	// window is the time in which a whole budget comes back, and which may be spent at once.
	window = time.Minute
	// longest bounds what is owed for pods that failed after they had been placed.
	longest = 5 * window
)

// Payer is who causes attempts: a plugin, for pods of a namespace, in one way.
type Payer struct {
	Plugin, Namespace string
	Kind              Kind
}

// Account is the account of a payer.
type Account struct {
	Payer
	// Rate is the number of attempts a minute.
	Rate int
	// Full is when all of the budget is there again, if nothing is spent.
	Full time.Time
	// Held are the pods that wait for their turn, in order. Paid are those for whose attempt was paid, and Returned those for
	// which the payment was returned, because they are placed; both are sorted.
	Held, Paid, Returned []string
}

type account struct {
	payer   Payer
	rate    int
	full    time.Time
	queue   []ticket // with those of pods that wait no more
	waiting int
	paid    int
}

type ticket struct {
	pod    string
	number uint64
}

// of is a pod's state: it waits with a ticket, or its attempt is paid for.
type of struct {
	account  *account
	ticket   uint64 // 0 if the attempt is paid
	returned bool
}

// Book has the accounts. It belongs to one goroutine.
type Book struct {
	accounts map[Payer]*account
	pods     map[string]of
	tickets  uint64
	counts   map[Kind]Counts
}

// Counts counts the attempts that were paid for, and how often a pod had to wait for its turn.
type Counts struct{ Paid, Held int64 }

// New returns an empty book.
func New() *Book {
	return &Book{accounts: make(map[Payer]*account), pods: make(map[string]of), counts: make(map[Kind]Counts)}
}

// Take pays for an attempt for a pod. It reports false if the budget is used up, or if others wait already: then the pod waits
// for its turn if hold is set.
func (b *Book) Take(now time.Time, who Payer, rate int, pod string, hold bool) bool {
	a := b.accounts[who]
	if a == nil {
		maps.DeleteFunc(b.accounts, func(_ Payer, a *account) bool { return a.waiting+a.paid == 0 && !now.Before(a.full) })
		a = &account{payer: who}
		b.accounts[who] = a
	}
	a.rate = rate
	b.Forget(pod)
	if a.waiting == 0 && a.spend(now) {
		b.pay(a, pod)
		return true
	}
	if hold {
		b.hold(a, pod)
		b.count(who.Kind, Counts{Held: 1})
	}
	return false
}

func (a *account) cost() time.Duration { return window / time.Duration(a.rate) }

// spend takes the price of an attempt, if it is there.
func (a *account) spend(now time.Time) bool {
	after := later(a.full, now).Add(a.cost())
	if after.Sub(now) > window {
		return false
	}
	a.full = after
	return true
}

func (b *Book) pay(a *account, pod string) {
	a.paid++
	b.pods[pod] = of{account: a}
	b.count(a.payer.Kind, Counts{Paid: 1})
}

func (b *Book) hold(a *account, pod string) {
	b.tickets++
	a.waiting++
	a.queue = append(a.queue, ticket{pod, b.tickets})
	b.pods[pod] = of{account: a, ticket: b.tickets}
}

func (b *Book) count(kind Kind, more Counts) {
	c := b.counts[kind]
	b.counts[kind] = Counts{Paid: c.Paid + more.Paid, Held: c.Held + more.Held}
}

// Held returns for what a pod waits; false if it does not.
func (b *Book) Held(pod string) (who Payer, rate int, ok bool) {
	p, ok := b.pods[pod]
	if !ok || p.ticket == 0 {
		return who, 0, false
	}
	return p.account.payer, p.account.rate, true
}

// Due pays for the pods whose turn it is and returns them.
func (b *Book) Due(now time.Time) (pods []string) {
	for _, a := range b.sorted() {
		for a.waiting > 0 && a.spend(now) {
			pod := b.first(a)
			b.Forget(pod)
			b.pay(a, pod)
			pods = append(pods, pod)
		}
	}
	return pods
}

// first returns the pod that has waited longest.
func (b *Book) first(a *account) string {
	for b.pods[a.queue[0].pod].ticket != a.queue[0].number {
		a.queue = a.queue[1:]
	}
	return a.queue[0].pod
}

// Next returns when it is the next pod's turn; false if none waits.
func (b *Book) Next() (at time.Time, ok bool) {
	for _, a := range b.accounts {
		if a.waiting == 0 {
			continue
		}
		if t := a.full.Add(a.cost() - window); !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// Placed returns what was paid for the attempt that placed a pod.
func (b *Book) Placed(pod string) {
	p, ok := b.pods[pod]
	if !ok || p.ticket != 0 || p.returned {
		return
	}
	p.returned = true
	p.account.full = p.account.full.Add(-p.account.cost())
	b.pods[pod] = p
}

// Settle ends the attempt for a pod that is not placed, or not any more: what was returned for it is taken back.
func (b *Book) Settle(now time.Time, pod string) {
	p, ok := b.pods[pod]
	if !ok || p.ticket != 0 {
		return
	}
	if a := p.account; p.returned {
		if a.full = later(a.full, now).Add(a.cost()); a.full.Sub(now) > longest {
			a.full = now.Add(longest)
		}
	}
	b.Forget(pod)
}

// Forget forgets a pod: it is bound, or gone.
func (b *Book) Forget(pod string) {
	p, ok := b.pods[pod]
	if !ok {
		return
	}
	delete(b.pods, pod)
	a := p.account
	if p.ticket == 0 {
		a.paid--
		return
	}
	if a.waiting--; len(a.queue) > 2*a.waiting+16 {
		a.queue = slices.DeleteFunc(a.queue, func(t ticket) bool { return b.pods[t.pod].ticket != t.number })
	}
}

// Counts returns what has happened so far, by kind.
func (b *Book) Counts() map[Kind]Counts { return maps.Clone(b.counts) }

// Waiting returns how many pods wait for their turn, by payer.
func (b *Book) Waiting() map[Payer]int {
	out := make(map[Payer]int)
	for who, a := range b.accounts {
		if a.waiting > 0 {
			out[who] = a.waiting
		}
	}
	return out
}

func (b *Book) sorted() []*account {
	return slices.SortedFunc(maps.Values(b.accounts), func(x, y *account) int {
		return cmp.Or(cmp.Compare(x.payer.Namespace, y.payer.Namespace), cmp.Compare(x.payer.Plugin, y.payer.Plugin), cmp.Compare(x.payer.Kind, y.payer.Kind))
	})
}

// All returns the accounts, sorted.
func (b *Book) All() (out []Account) {
	paid, returned := make(map[*account][]string), make(map[*account][]string)
	for _, pod := range slices.Sorted(maps.Keys(b.pods)) {
		switch p := b.pods[pod]; {
		case p.returned:
			returned[p.account] = append(returned[p.account], pod)
		case p.ticket == 0:
			paid[p.account] = append(paid[p.account], pod)
		}
	}
	for _, a := range b.sorted() {
		x := Account{Payer: a.payer, Rate: a.rate, Full: a.full, Paid: paid[a], Returned: returned[a]}
		for _, t := range a.queue {
			if b.pods[t.pod].ticket == t.number {
				x.Held = append(x.Held, t.pod)
			}
		}
		out = append(out, x)
	}
	return out
}

// Restore sets the account of a payer.
func (b *Book) Restore(x Account) {
	a := &account{payer: x.Payer, rate: max(1, x.Rate), full: x.Full}
	b.accounts[x.Payer] = a
	for _, pod := range x.Held {
		b.hold(a, pod)
	}
	for _, pod := range x.Paid {
		a.paid++
		b.pods[pod] = of{account: a}
	}
	for _, pod := range x.Returned {
		a.paid++
		b.pods[pod] = of{account: a, returned: true}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
