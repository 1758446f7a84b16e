package follow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/runtime/internal/heap"
)

// waits is the work that waits. What may begin next is found without looking at all of it: jobs of one grant that take the same are in a
// lane, which has the next job of each namespace in order, and lanes that wait for the same worker are in order, too.
type waits[K any, R any] struct {
	jobs   int
	lanes  map[string]*lane[K, R]   // by lane.name
	active *order[K, R]             // lanes that may have a job to begin
	full   map[string]*order[K, R]  // lanes by the use that had no worker for them
	freed  map[string]bool          // uses in full that may have a worker by now
	parked map[string][]*lane[K, R] // by namespace: lanes with jobs of one that is at work, or has no change left
	// turn counts what was begun, and grants by grant.
	turn   uint64
	grants map[string]*turns
	// seen counts the lanes that were looked at, and grants that were put in order again.
	seen int
}

// turns are what was begun for a grant: how much, and the last turn.
type turns struct{ begun, last uint64 }

// patience is how much larger a job may be than one that comes a turn of their grant later, and still be before it. So a large module is
// overtaken by some small ones, not by all that ever come.
const patience = 1 << 20

// lane is the waiting jobs of a grant that take the same.
type lane[K any, R any] struct {
	name  string
	grant *turns
	uses  []use
	first bool
	jobs  map[string][]*job[K, R]  // by namespace, in the order in which they came
	heads *heap.Heap[string, head] // of the namespaces that are not parked
	in    *order[K, R]             // where it is; nil for nowhere
}

// head is the next job of a namespace in a lane. since is the turn at which it became that.
type head struct {
	namespace   string
	rank, since uint64
}

func (w *waits[K, R]) init() {
	w.lanes, w.full = make(map[string]*lane[K, R]), make(map[string]*order[K, R])
	w.parked, w.grants = make(map[string][]*lane[K, R]), make(map[string]*turns)
	w.active, w.freed = newOrder[K, R](), make(map[string]bool)
}

// add adds a job. busy reports whether its namespace is at work.
func (w *waits[K, R]) add(j *job[K, R], busy bool) {
	name := fmt.Sprintf("%q %t", j.grant, j.first)
	for _, u := range j.uses {
		name += fmt.Sprintf(" %q", u.name)
	}
	l := w.lanes[name]
	if l == nil {
		grant := w.grants[j.grant]
		if grant == nil {
			grant = &turns{}
			w.grants[j.grant] = grant
		}
		l = &lane[K, R]{name: name, grant: grant, uses: j.uses, first: j.first, jobs: make(map[string][]*job[K, R]), heads: newHeads()}
		w.lanes[name] = l
	}
	w.jobs++
	jobs := append(l.jobs[j.namespace], j)
	if n := len(jobs); n > 1 && n&(n-1) == 0 { // now and then: the others may be dropped long before their turn
		rest := slices.DeleteFunc(jobs[1:], func(j *job[K, R]) bool { return j.dropped })
		w.jobs -= n - 1 - len(rest)
		jobs = jobs[:1+len(rest)]
	}
	l.jobs[j.namespace] = jobs
	if len(jobs) == 1 {
		w.offer(l, j.namespace, busy)
	}
}

// offer puts the next job of a namespace in order, or parks it.
func (w *waits[K, R]) offer(l *lane[K, R], namespace string, park bool) {
	if park {
		w.parked[namespace] = append(w.parked[namespace], l)
		return
	}
	w.turn++
	rank := uint64(l.jobs[namespace][0].size) + patience*l.grant.begun
	l.heads.Push(head{namespace: namespace, rank: rank, since: w.turn})
	if l.in == nil {
		w.active.add(l)
	} else {
		l.in.fix(l)
	}
}

// unpark puts the jobs of a namespace that were parked in order.
func (w *waits[K, R]) unpark(namespace string) {
	lanes := w.parked[namespace]
	delete(w.parked, namespace)
	for _, l := range lanes {
		w.offer(l, namespace, false)
	}
}

// free lets the lanes that wait for a worker try again.
func (w *waits[K, R]) free(u string) {
	if w.full[u] != nil {
		w.freed[u] = true
	}
}

// first returns the first lane of those that do not wait for a worker; nil if there is none.
func (w *waits[K, R]) first(used map[string]int) (best *lane[K, R]) {
	if w.active.groups.Len() > 0 {
		best = w.active.top(&w.seen)
	}
	from := ""
	for name := range w.freed {
		l := w.full[name].top(&w.seen)
		if i := slices.IndexFunc(l.uses, func(u use) bool { return u.name == name }); used[name] >= l.uses[i].most {
			delete(w.freed, name)
		} else if best == nil || l.grant.last < best.grant.last || l.grant.last == best.grant.last && l.before(best) {
			best, from = l, name
		}
	}
	if from != "" {
		w.full[from].remove(best)
		if w.full[from].groups.Len() == 0 {
			delete(w.full, from)
			delete(w.freed, from)
		}
		w.active.add(best)
	}
	return best
}

// again lets all try again that may have a worker or a change by now.
func (w *waits[K, R]) again() {
	for _, namespace := range slices.Collect(maps.Keys(w.parked)) {
		w.unpark(namespace)
	}
	for u := range w.full {
		w.free(u)
	}
}

// next takes the job that can be begun and whose grant had its turn the longest ago; of these, the smallest, with patience, and then
// that of the namespace that had its turn the longest ago. It returns nil if there is none. may says whether a namespace may have a job
// begun, first or not, or waits for unpark.
func (w *waits[K, R]) next(used map[string]int, may func(namespace string, first bool) bool) *job[K, R] {
	for l := w.first(used); l != nil; l = w.first(used) {
		if i := slices.IndexFunc(l.uses, func(u use) bool { return used[u.name] >= u.most }); i >= 0 {
			full := l.uses[i].name
			if w.full[full] == nil {
				w.full[full] = newOrder[K, R]()
			}
			w.active.remove(l)
			w.full[full].add(l)
			continue
		}
		next, _ := l.heads.Pop()
		namespace := next.namespace
		j := l.jobs[namespace][0]
		if !j.dropped && !may(namespace, l.first) {
			w.parked[namespace] = append(w.parked[namespace], l)
			w.settle(l)
			continue
		}
		w.jobs--
		if !j.dropped {
			w.turn++
			l.grant.begun++
			l.grant.last = w.turn
		}
		if l.jobs[namespace] = l.jobs[namespace][1:]; len(l.jobs[namespace]) == 0 {
			delete(l.jobs, namespace)
		} else {
			w.offer(l, namespace, !j.dropped) // it is at work now
		}
		w.settle(l)
		if !j.dropped {
			return j
		}
	}
	return nil
}

// settle puts a lane in order that has lost a job, or its first namespace.
func (w *waits[K, R]) settle(l *lane[K, R]) {
	if l.heads.Len() > 0 {
		l.in.fix(l)
		return
	}
	l.in.remove(l)
	if len(l.jobs) == 0 {
		delete(w.lanes, l.name)
	}
	if w.jobs == 0 {
		clear(w.grants)
	}
}

func newHeads() *heap.Heap[string, head] {
	return heap.New(func(h head) string { return h.namespace }, head.before)
}

func (h head) before(other head) bool {
	return cmp.Or(cmp.Compare(h.rank, other.rank), cmp.Compare(h.since, other.since)) < 0
}

// before compares lanes by their next jobs. One without a job, which is about to be removed, is the first.
func (l *lane[K, R]) before(other *lane[K, R]) bool {
	a, ok := l.heads.Peek()
	b, others := other.heads.Peek()
	if !ok || !others {
		return !ok && others
	}
	return a.before(b)
}

// order is lanes in order: of a grant together, so that a turn of the grant changes one place.
type order[K any, R any] struct {
	groups *heap.Heap[*turns, *group[K, R]]
}

// group is lanes of a grant.
type group[K any, R any] struct {
	grant *turns
	lanes *heap.Heap[string, *lane[K, R]] // by name
	last  uint64                          // of the grant, when the group was put in order
}

func newOrder[K any, R any]() *order[K, R] {
	return &order[K, R]{heap.New(func(g *group[K, R]) *turns { return g.grant }, (*group[K, R]).before)}
}

func (g *group[K, R]) before(other *group[K, R]) bool {
	if g.last != other.last {
		return g.last < other.last
	}
	a, _ := g.lanes.Peek()
	b, _ := other.lanes.Peek()
	return a.before(b)
}

// add adds a lane with a job.
func (o *order[K, R]) add(l *lane[K, R]) {
	g, ok := o.groups.Get(l.grant)
	if !ok {
		lanes := heap.New(func(l *lane[K, R]) string { return l.name }, (*lane[K, R]).before)
		g = &group[K, R]{grant: l.grant, lanes: lanes, last: l.grant.last}
	}
	g.lanes.Push(l)
	o.groups.Push(g)
	l.in = o
}

// fix puts a lane in order whose jobs have changed.
func (o *order[K, R]) fix(l *lane[K, R]) {
	g, _ := o.groups.Get(l.grant)
	g.lanes.Fix(l.name)
	o.groups.Fix(l.grant)
}

func (o *order[K, R]) remove(l *lane[K, R]) {
	g, _ := o.groups.Get(l.grant)
	l.in = nil
	if g.lanes.Len() == 1 {
		o.groups.Delete(l.grant)
		return
	}
	g.lanes.Delete(l.name)
	o.groups.Fix(l.grant)
}

// top returns the first lane, and counts what it looks at.
func (o *order[K, R]) top(seen *int) *lane[K, R] {
	for {
		*seen++
		g, _ := o.groups.Peek()
		l, _ := g.lanes.Peek()
		if g.last == l.grant.last {
			return l
		}
		g.last = l.grant.last
		o.groups.Fix(g.grant)
	}
}
