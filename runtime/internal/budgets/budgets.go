// Package budgets keeps account of the attempts that plugins cause which are attached to namespaces. A guest can have its pods
// tried over and over by what it answers, and each attempt is work for which others wait. So each plugin may cause a number of
// attempts a minute for pods of a namespace in each way, and all plugins of the namespace together a number of them in all ways;
// beyond that these pods wait for their turn, the longest waiting first.
//
//	Take ── within the budgets ──▶ paid ── Return: the pod is bound
//	   └─── over one, or others wait ─▶ held ── Due ─▶ paid
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

// window is the time in which a whole budget comes back, and which may be spent at once.
const window = time.Minute

// Payer is who causes attempts: a plugin, for pods of a namespace, in one way.
type Payer struct {
	Plugin, Namespace string
	Kind              Kind
}

// Rates are numbers of attempts a minute: those of the payer, and those of all payers of its namespace together.
type Rates struct{ Own, All int }

// Account is the account of a payer.
type Account struct {
	Payer
	Rates
	// Full is when all of the payer's budget is there again, if nothing is spent, and AllFull all of the namespace's.
	Full, AllFull time.Time
	// Held are the pods that wait for their turn, in order. Paid are those for whose attempt was paid, sorted.
	Held, Paid []string
}

type account struct {
	payer   Payer
	rates   Rates
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
	account *account
	ticket  uint64 // 0 if the attempt is paid
}

// Book has the accounts. It belongs to one goroutine.
type Book struct {
	accounts map[Payer]*account
	all      map[string]time.Time // by namespace: when all of its budget is there again
	pods     map[string]of
	tickets  uint64
	counts   map[Kind]Counts
}

// Counts counts the attempts that were paid for, and how often a pod had to wait for its turn.
type Counts struct{ Paid, Held int64 }

// New returns an empty book.
func New() *Book {
	return &Book{accounts: make(map[Payer]*account), all: make(map[string]time.Time), pods: make(map[string]of), counts: make(map[Kind]Counts)}
}

// Take pays for an attempt for a pod. It reports false if a budget is used up, or if others wait already: then the pod waits
// for its turn if hold is set.
func (b *Book) Take(now time.Time, who Payer, rates Rates, pod string, hold bool) bool {
	a := b.accounts[who]
	if a == nil {
		b.sweep(now)
		a = &account{payer: who}
		b.accounts[who] = a
	}
	a.rates = rates
	b.Forget(pod)
	if a.waiting == 0 && b.spend(now, a) {
		b.pay(a, pod)
		return true
	}
	if hold {
		b.hold(a, pod)
		b.count(who.Kind, Counts{Held: 1})
	}
	return false
}

// sweep forgets the accounts that say no more than new ones.
func (b *Book) sweep(now time.Time) {
	used := make(map[string]bool)
	maps.DeleteFunc(b.accounts, func(who Payer, a *account) bool {
		idle := a.waiting+a.paid == 0 && !now.Before(later(a.full, b.all[who.Namespace]))
		used[who.Namespace] = used[who.Namespace] || !idle
		return idle
	})
	maps.DeleteFunc(b.all, func(namespace string, _ time.Time) bool { return !used[namespace] })
}

// cost is the price of an attempt.
func cost(rate int) time.Duration { return window / time.Duration(rate) }

// ready returns when the next attempt can be paid.
func (b *Book) ready(a *account) time.Time {
	return later(a.full.Add(cost(a.rates.Own)), b.all[a.payer.Namespace].Add(cost(a.rates.All))).Add(-window)
}

// spend takes the price of an attempt, if it is there.
func (b *Book) spend(now time.Time, a *account) bool {
	if b.ready(a).After(now) {
		return false
	}
	a.full = later(a.full, now).Add(cost(a.rates.Own))
	b.all[a.payer.Namespace] = later(b.all[a.payer.Namespace], now).Add(cost(a.rates.All))
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
func (b *Book) Held(pod string) (who Payer, rates Rates, ok bool) {
	p, ok := b.pods[pod]
	if !ok || p.ticket == 0 {
		return who, rates, false
	}
	return p.account.payer, p.account.rates, true
}

// Due pays for the pods whose turn it is and returns them.
func (b *Book) Due(now time.Time) (pods []string) {
	for {
		var next *account // that which has paid least
		for _, a := range b.accounts {
			if a.waiting > 0 && !b.ready(a).After(now) && (next == nil || cmp.Or(a.full.Compare(next.full), compare(a, next)) < 0) {
				next = a
			}
		}
		if next == nil {
			return pods
		}
		pod := b.first(next)
		b.Forget(pod)
		b.spend(now, next)
		b.pay(next, pod)
		pods = append(pods, pod)
	}
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
		if t := b.ready(a); !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// Return returns what was paid for the attempt of a pod that is bound now.
func (b *Book) Return(pod string) {
	p, ok := b.pods[pod]
	if !ok || p.ticket != 0 {
		return
	}
	a := p.account
	a.full = a.full.Add(-cost(a.rates.Own))
	b.all[a.payer.Namespace] = b.all[a.payer.Namespace].Add(-cost(a.rates.All))
	b.Forget(pod)
}

// Forget forgets a pod: its attempt has failed, or it is gone.
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
	return slices.SortedFunc(maps.Values(b.accounts), compare)
}

func compare(x, y *account) int {
	a, b := &x.payer, &y.payer
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Kind, b.Kind))
}

// All returns the accounts, sorted.
func (b *Book) All() (out []Account) {
	paid := make(map[*account][]string)
	for _, pod := range slices.Sorted(maps.Keys(b.pods)) {
		if p := b.pods[pod]; p.ticket == 0 {
			paid[p.account] = append(paid[p.account], pod)
		}
	}
	for _, a := range b.sorted() {
		x := Account{Payer: a.payer, Rates: a.rates, Full: a.full, AllFull: b.all[a.payer.Namespace], Paid: paid[a]}
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
	a := &account{payer: x.Payer, rates: Rates{max(1, x.Own), max(1, x.All)}, full: x.Full}
	b.accounts[x.Payer], b.all[x.Namespace] = a, x.AllFull
	for _, pod := range x.Held {
		b.hold(a, pod)
	}
	for _, pod := range x.Paid {
		a.paid++
		b.pods[pod] = of{account: a}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
