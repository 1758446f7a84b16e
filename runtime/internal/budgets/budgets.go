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

// Rates are numbers of attempts a minute: those of the payer, and those of all payers of its namespace together; 0 if these have
// no bound. Where payers of a namespace differ in All, an attempt takes a larger part of the namespace's budget the lower it is.
type Rates struct {
	Own int `json:"own"`
	All int `json:"all,omitempty"`
}

func (r Rates) valid() Rates { return Rates{Own: max(1, r.Own), All: max(0, r.All)} }

// own is what an attempt takes of the payer's budget, as the time in which it comes back. More than All would be of no use to it.
func (r Rates) own() time.Duration { return max(window/time.Duration(r.Own), r.all()) }

// all is what it takes of the namespace's.
func (r Rates) all() time.Duration {
	if r.All == 0 {
		return 0
	}
	return window / time.Duration(r.All)
}

// Account is the account of a payer.
type Account struct {
	Payer
	Rates
	// Full is when all of the payer's budget is there again, if nothing is spent, and AllFull all of the namespace's.
	Full, AllFull time.Time
	// Held are the pods that wait for their turn, in order. Paid are those for whose attempt was paid, sorted.
	Held, Paid []string
	// PaidAt are the rates for those of Paid for which others held than now.
	PaidAt map[string]Rates
}

type account struct {
	payer   Payer
	space   *space
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

// space has the budget of a namespace.
type space struct {
	full     time.Time
	accounts []*account
}

// of is a pod's state: it waits with a ticket, or its attempt is paid for.
type of struct {
	account *account
	ticket  uint64 // 0 if the attempt is paid
	rates   Rates  // at which it was paid
}

// Book has the accounts. It belongs to one goroutine.
type Book struct {
	accounts map[Payer]*account
	spaces   map[string]*space
	pods     map[string]of
	tickets  uint64
	counts   map[Kind]Counts
}

// Counts counts the attempts that were paid for, and how often a pod had to wait for its turn.
type Counts struct{ Paid, Held int64 }

// New returns an empty book.
func New() *Book {
	return &Book{accounts: make(map[Payer]*account), spaces: make(map[string]*space), pods: make(map[string]of), counts: make(map[Kind]Counts)}
}

// Take pays for an attempt for a pod. It reports false if a budget is used up, or if others of the namespace wait already whose
// turn comes first: then the pod waits for its turn if hold is set.
func (b *Book) Take(now time.Time, who Payer, rates Rates, pod string, hold bool) bool {
	a := b.accounts[who]
	if a == nil {
		b.sweep(now)
		a = b.open(who)
	}
	a.rates = rates
	b.Forget(pod)
	if a.mayOvertake(now) {
		b.pay(now, a, pod)
		return true
	}
	if hold {
		b.hold(a, pod)
		b.count(who.Kind, Counts{Held: 1})
	}
	return false
}

func (b *Book) open(who Payer) *account {
	n := b.spaces[who.Namespace]
	if n == nil {
		n = &space{}
		b.spaces[who.Namespace] = n
	}
	a := &account{payer: who, space: n}
	n.accounts, b.accounts[who] = append(n.accounts, a), a
	return a
}

// sweep forgets the accounts that say no more than new ones.
func (b *Book) sweep(now time.Time) {
	maps.DeleteFunc(b.spaces, func(_ string, n *space) bool {
		n.accounts = slices.DeleteFunc(n.accounts, func(a *account) bool {
			idle := a.waiting+a.paid == 0 && !now.Before(later(a.full, n.full))
			if idle {
				delete(b.accounts, a.payer)
			}
			return idle
		})
		return len(n.accounts) == 0
	})
}

// ready returns when the payer's own budget has the price of an attempt.
func (a *account) ready() time.Time { return a.full.Add(a.rates.own() - window) }

// able reports whether pods wait only for the namespace's budget.
func (a *account) able(now time.Time) bool { return a.waiting > 0 && !a.ready().After(now) }

// mayOvertake reports whether an attempt can be paid for a pod that has not waited. One that takes nothing of the namespace's budget
// waits for no other payer.
func (a *account) mayOvertake(now time.Time) bool {
	if a.rates.All == 0 {
		return a.waiting == 0 && !a.ready().After(now)
	}
	others := slices.ContainsFunc(a.space.accounts, func(a *account) bool { return a.able(now) })
	return !others && !later(a.ready(), a.space.full.Add(a.rates.all()-window)).After(now)
}

// ready returns when the budget has the price of an attempt for each account that is able now. All must be ready at the same time:
// otherwise payers with a lower price would be first each time, and use up what the others wait for.
func (n *space) ready(now time.Time) time.Time {
	var price time.Duration
	for _, a := range n.accounts {
		if a.able(now) {
			price = max(price, a.rates.all())
		}
	}
	return n.full.Add(price - window)
}

// pay takes the price of an attempt.
func (b *Book) pay(now time.Time, a *account, pod string) {
	a.full = later(a.full, now).Add(a.rates.own())
	a.space.full = later(a.space.full, now).Add(a.rates.all())
	a.paid++
	b.pods[pod] = of{account: a, rates: a.rates}
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

// OwnLimit reports whether a payer's pods wait for its own budget longer than for the namespace's.
func (b *Book) OwnLimit(now time.Time, who Payer) bool {
	a := b.accounts[who]
	if a == nil || a.rates.All == 0 {
		return true
	}
	own := a.ready()
	return own.After(now) && !own.Before(a.space.full.Add(a.rates.all()-window))
}

// Due pays for the pods whose turn it is and returns them.
func (b *Book) Due(now time.Time) (pods []string) {
	for {
		var next *account // that which has paid least
		for _, n := range b.spaces {
			if n.ready(now).After(now) {
				continue
			}
			for _, a := range n.accounts {
				if a.able(now) && (next == nil || cmp.Or(a.full.Compare(next.full), compare(a, next)) < 0) {
					next = a
				}
			}
		}
		if next == nil {
			return pods
		}
		pod := b.first(next)
		b.Forget(pod)
		b.pay(now, next, pod)
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

// Next returns when it is the next pod's turn, from now on; false if none waits.
func (b *Book) Next(now time.Time) (at time.Time, ok bool) {
	for _, n := range b.spaces {
		if t, waits := n.next(now); waits && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}

func (n *space) next(now time.Time) (at time.Time, ok bool) {
	for _, a := range n.accounts {
		if t := a.ready(); a.waiting > 0 && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	at = later(at, now)
	for ok { // until then, more accounts may become able, for which the others wait
		t := n.ready(at)
		if !t.After(at) {
			break
		}
		at = t
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
	a.full = a.full.Add(-p.rates.own())
	a.space.full = a.space.full.Add(-p.rates.all())
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
	paid, paidAt := make(map[*account][]string), make(map[*account]map[string]Rates)
	for _, pod := range slices.Sorted(maps.Keys(b.pods)) {
		p := b.pods[pod]
		if p.ticket != 0 {
			continue
		}
		paid[p.account] = append(paid[p.account], pod)
		if p.rates != p.account.rates {
			if paidAt[p.account] == nil {
				paidAt[p.account] = make(map[string]Rates)
			}
			paidAt[p.account][pod] = p.rates
		}
	}
	for _, a := range b.sorted() {
		x := Account{Payer: a.payer, Rates: a.rates, Full: a.full, AllFull: a.space.full, Paid: paid[a], PaidAt: paidAt[a]}
		for _, t := range a.queue {
			if b.pods[t.pod].ticket == t.number {
				x.Held = append(x.Held, t.pod)
			}
		}
		out = append(out, x)
	}
	return out
}

// Restore sets the account of a payer. Rates that no account can have count as the lowest.
func (b *Book) Restore(x Account) {
	a := b.accounts[x.Payer]
	if a == nil {
		a = b.open(x.Payer)
	}
	a.rates, a.full, a.space.full = x.valid(), x.Full, x.AllFull
	for _, pod := range x.Held {
		b.Forget(pod)
		b.hold(a, pod)
	}
	for _, pod := range x.Paid {
		rates, ok := x.PaidAt[pod]
		if !ok {
			rates = x.Rates
		}
		b.Forget(pod)
		a.paid++
		b.pods[pod] = of{account: a, rates: rates.valid()}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
