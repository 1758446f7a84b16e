package follow

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"slices"
)

// waits is the work that waits. What may begin next is found without looking at all of it: jobs of one grant that take the same are in a
// lane, which has the next job of each namespace in order, and lanes that wait for the same worker are in order, too.
type waits[K any, R any] struct {
	jobs   int
	lanes  map[string]*lane[K, R]   // by lane.name
	active order[K, R]              // lanes that may have a job to begin
	full   map[string]*order[K, R]  // lanes by the use that had no worker for them
	parked map[string][]*lane[K, R] // by namespace: lanes with jobs of one that is at work, or has no change left
	// turn counts what was begun, and grants by grant.
	turn   uint64
	grants map[string]*turns
	// seen counts the lanes that next has looked at.
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
	jobs  map[string][]*job[K, R] // by namespace, in the order in which they came
	heads heads                   // of the namespaces that are not parked
	last  uint64                  // grant.last when it was put in order
	in    *order[K, R]            // where it is; nil for nowhere
	at    int
}

// head is the next job of a namespace in a lane. since is the turn at which it became that.
type head struct {
	namespace   string
	rank, since uint64
}

func (w *waits[K, R]) init() {
	w.lanes, w.full = make(map[string]*lane[K, R]), make(map[string]*order[K, R])
	w.parked, w.grants = make(map[string][]*lane[K, R]), make(map[string]*turns)
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
		l = &lane[K, R]{name: name, grant: grant, uses: j.uses, first: j.first, jobs: make(map[string][]*job[K, R])}
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
	heap.Push(&l.heads, head{namespace: namespace, rank: rank, since: w.turn})
	if l.in == nil {
		l.last = l.grant.last
		heap.Push(&w.active, l)
	} else {
		heap.Fix(l.in, l.at)
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

// pull lets the first lane that waits for a worker try again.
func (w *waits[K, R]) pull(u string) {
	waiting := w.full[u]
	if waiting == nil {
		return
	}
	for l := (*waiting)[0]; l.last != l.grant.last; l = (*waiting)[0] {
		l.last = l.grant.last
		heap.Fix(waiting, 0)
	}
	heap.Push(&w.active, heap.Pop(waiting))
	if waiting.Len() == 0 {
		delete(w.full, u)
	}
}

// again lets all try again that may have a worker or a change by now.
func (w *waits[K, R]) again() {
	for _, namespace := range slices.Collect(maps.Keys(w.parked)) {
		w.unpark(namespace)
	}
	for _, u := range slices.Collect(maps.Keys(w.full)) {
		w.pull(u)
	}
}

// next takes the job that can be begun and whose grant had its turn the longest ago; of these, the smallest, with patience, and then
// that of the namespace that had its turn the longest ago. It returns nil if there is none. may says whether a namespace may have a job
// begun, first or not, or waits for unpark.
func (w *waits[K, R]) next(used map[string]int, may func(namespace string, first bool) bool) *job[K, R] {
	for len(w.active) > 0 {
		l := w.active[0]
		if l.last != l.grant.last {
			l.last = l.grant.last
			heap.Fix(&w.active, 0)
			continue
		}
		w.seen++
		if i := slices.IndexFunc(l.uses, func(u use) bool { return used[u.name] >= u.most }); i >= 0 {
			full := l.uses[i].name
			if w.full[full] == nil {
				w.full[full] = &order[K, R]{}
			}
			heap.Pop(&w.active)
			heap.Push(w.full[full], l)
			w.instead(l, used)
			continue
		}
		namespace := l.heads[0].namespace
		j := l.jobs[namespace][0]
		heap.Pop(&l.heads)
		if !j.dropped && !may(namespace, l.first) {
			w.parked[namespace] = append(w.parked[namespace], l)
			w.settle(l, used)
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
		w.settle(l, used)
		if !j.dropped {
			return j
		}
	}
	return nil
}

// settle puts a lane in order that has lost a job, or its first namespace.
func (w *waits[K, R]) settle(l *lane[K, R], used map[string]int) {
	if len(l.heads) > 0 {
		heap.Fix(l.in, l.at)
		return
	}
	if l.in != nil {
		heap.Remove(l.in, l.at)
	}
	if len(l.jobs) == 0 {
		delete(w.lanes, l.name)
	}
	if w.jobs == 0 {
		clear(w.grants)
	}
	w.instead(l, used)
}

// instead lets another lane have the workers that a lane does not take.
func (w *waits[K, R]) instead(l *lane[K, R], used map[string]int) {
	for _, u := range l.uses {
		if used[u.name] < u.most {
			w.pull(u.name)
		}
	}
}

// heads is a heap of the next jobs of namespaces.
type heads []head

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return h[i].before(h[j]) }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(head)) }

func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (h head) before(other head) bool {
	return cmp.Or(cmp.Compare(h.rank, other.rank), cmp.Compare(h.since, other.since)) < 0
}

// order is a heap of lanes.
type order[K any, R any] []*lane[K, R]

func (o order[K, R]) Len() int { return len(o) }

func (o order[K, R]) Less(i, j int) bool {
	if o[i].last != o[j].last {
		return o[i].last < o[j].last
	}
	return o[i].heads[0].before(o[j].heads[0])
}

func (o order[K, R]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].at, o[j].at = i, j
}

// Push implements heap.Interface.
func (o *order[K, R]) Push(x any) {
	l := x.(*lane[K, R])
	l.in, l.at = o, len(*o)
	*o = append(*o, l)
}

// Pop implements heap.Interface.
func (o *order[K, R]) Pop() any {
	last := (*o)[len(*o)-1]
	last.in = nil
	(*o)[len(*o)-1] = nil
	*o = (*o)[:len(*o)-1]
	return last
}
