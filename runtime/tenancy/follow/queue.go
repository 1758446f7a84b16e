package follow

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// How much a namespace may have done: some changes at once, then one in each pause. The platform
// has no limit, and neither has what is asked for at first: these are no changes, but what was there when
// the scheduler started.
const (
	changesAtOnce = 6
	changePause   = 10 * time.Second
	starting      = 30 * time.Second
)

// After an error the work is repeated, with growing pauses.
const (
	firstRepeat = 10 * time.Second
	lastRepeat  = 5 * time.Minute
)

// workers is how many namespaces are served at once, and grantWorkers how many of them may be of one grant. Most of them wait for a
// registry, or for their turn to compile.
const (
	workers      = 8
	grantWorkers = 6
)

// queue does work for objects: at most one thing at a time for a namespace, and the grants and the namespaces of each in turn, so that
// none waits for all the work of another.
type queue[K any, R any] struct {
	// work gets whether the work was done before.
	work func(ctx context.Context, key K, again bool) (R, error)
	// adopt (optional) makes a result from that of another key, at once; false if they have nothing in
	// common. So a version of a plugin goes on under another name.
	adopt func(ctx context.Context, from K, result R, key K) (R, bool)
	// uses (optional) names what the work for a key takes, besides a worker of the grant.
	uses func(K) []use
	// size (optional) is how large the work is: of a grant's, the smallest comes first.
	size func(K) int
	// free (optional) frees a result that is not used any more.
	free  func(R)
	clock clock.Clock
	// limited is true if changesAtOnce and changePause hold.
	limited bool
	tell    func(*plugin.Panic) // (optional) is told of panics of the work
	done    func()              // is called when a result is there
	group   sync.WaitGroup

	mu struct {
		sync.Mutex
		round   int
		jobs    map[string]map[string]*job[K, R] // by namespace and plugin
		former  map[string][]*job[K, R]          // by namespace: plugins that have other keys since the last call of forget
		waiting waits[K, R]
		busy    map[string]bool
		used    map[string]int // by use.name: workers
		running int
		allowed map[string]*allowance
		started time.Time // the end of starting; zero before anything was asked for
	}
}

// use is what at most some workers may take at once.
type use struct {
	name string
	most int
}

// owner is whose a plugin is: of the platform if both are empty.
type owner struct{ grant, namespace string }

// job is the work for a plugin.
type job[K any, R any] struct {
	owner
	key     K
	uses    []use
	size    int
	first   bool // it was there when the scheduler started
	round   int  // in which it was last asked for
	ended   bool
	dropped bool
	result  R
	err     error
	times   int       // that the work was done
	again   time.Time // when to do it again; zero for never
}

// allowance is a bucket of changes.
type allowance struct {
	left int
	at   time.Time
}

func newQueue[K any, R any](
	c clock.Clock, limited bool, tell func(*plugin.Panic), done func(), work func(context.Context, K, bool) (R, error),
) *queue[K, R] {
	q := &queue[K, R]{work: work, clock: c, limited: limited, tell: tell, done: done}
	q.mu.jobs, q.mu.former = make(map[string]map[string]*job[K, R]), make(map[string][]*job[K, R])
	q.mu.waiting.init()
	q.mu.busy, q.mu.allowed = make(map[string]bool), make(map[string]*allowance)
	q.mu.used = make(map[string]int)
	return q
}

// get returns the result for a plugin, and whether there is one already. What is not asked for
// between two calls of forget is dropped.
func (q *queue[K, R]) get(ctx context.Context, of owner, name string, key K) (result R, ended bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := q.mu.jobs[of.namespace]
	if jobs == nil {
		jobs = make(map[string]*job[K, R])
		q.mu.jobs[of.namespace] = jobs
	}
	j := jobs[name]
	if j != nil && !reflect.DeepEqual(j.key, key) {
		q.mu.former[of.namespace] = append(q.mu.former[of.namespace], j)
		j = nil
	}
	if j == nil {
		now := q.clock.Now()
		if q.mu.started.IsZero() {
			q.mu.started = now.Add(starting)
		}
		j = &job[K, R]{key: key}
		q.own(j, of)
		j.first = now.Before(q.mu.started)
		jobs[name] = j
		if !q.adopted(ctx, j) {
			q.add(ctx, j)
		}
	} else if j.ended && !j.again.IsZero() && !q.clock.Now().Before(j.again) {
		j.again = time.Time{}
		q.own(j, of)
		q.add(ctx, j)
	}
	j.round = q.mu.round
	return j.result, j.ended, j.err
}

// find returns a result of a namespace whose key is as wanted, without asking for it.
func (q *queue[K, R]) find(namespace string, wanted func(K) bool) (result R, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.mu.jobs[namespace] {
		if j.ended && j.err == nil && wanted(j.key) {
			return j.result, true
		}
	}
	return result, false
}

// own sets the owner of a job that neither waits nor runs, whose grant may be another one each time that the work is done.
func (q *queue[K, R]) own(j *job[K, R], of owner) {
	j.owner, j.uses = of, nil
	if q.uses != nil {
		j.uses = q.uses(j.key)
	}
	if of.grant != "" {
		j.uses = append(j.uses, use{"the grant " + of.grant, grantWorkers})
	}
	if q.size != nil {
		j.size = q.size(j.key)
	}
}

// adopted makes the result of a job from that of another one of the namespace, if there is one.
func (q *queue[K, R]) adopted(ctx context.Context, j *job[K, R]) bool {
	if q.adopt == nil {
		return false
	}
	for _, from := range slices.AppendSeq(slices.Clone(q.mu.former[j.namespace]), maps.Values(q.mu.jobs[j.namespace])) {
		if !from.ended || from.err != nil {
			continue
		}
		if j.result, j.ended = q.adopt(ctx, from.key, from.result, j.key); j.ended {
			return true
		}
	}
	return false
}

// forget drops what was not asked for since the last call.
func (q *queue[K, R]) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, jobs := range q.mu.former {
		for _, j := range jobs {
			q.drop(j)
		}
	}
	clear(q.mu.former)
	for namespace, jobs := range q.mu.jobs {
		for name, j := range jobs {
			if j.round != q.mu.round {
				q.drop(j)
				delete(jobs, name)
			}
		}
		if len(jobs) == 0 {
			delete(q.mu.jobs, namespace)
		}
	}
	q.mu.round++
	full := q.clock.Now().Add(-changesAtOnce * changePause)
	maps.DeleteFunc(q.mu.allowed, func(_ string, a *allowance) bool { return a.at.Before(full) })
}

// repeat has the work for a plugin done again some time, because its result is of no use.
func (q *queue[K, R]) repeat(namespace, name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j := q.mu.jobs[namespace][name]; j != nil && j.ended && j.again.IsZero() {
		j.later(q.clock.Now())
	}
}

// later has the work done again, after a pause that grows.
func (j *job[K, R]) later(now time.Time) {
	j.again = now.Add(min(firstRepeat<<min(j.times, 10), lastRepeat))
}

// resume begins what had to wait for the allowance of its namespace.
func (q *queue[K, R]) resume(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.waiting.again()
	q.dispatch(ctx)
}

// wait waits until no work is running.
func (q *queue[K, R]) wait() { q.group.Wait() }

func (q *queue[K, R]) add(ctx context.Context, j *job[K, R]) {
	q.mu.waiting.add(j, q.mu.busy[j.namespace])
	if q.mu.running < workers && q.ready(j) { // what waited before is begun when something ends, and by resume
		q.dispatch(ctx)
	}
}

func (q *queue[K, R]) drop(j *job[K, R]) {
	j.dropped = true
	if j.ended && j.err == nil && q.free != nil {
		q.free(j.result)
	}
}

// dispatch starts work while there are workers.
func (q *queue[K, R]) dispatch(ctx context.Context) {
	for q.mu.running < workers && ctx.Err() == nil {
		j := q.mu.waiting.next(q.mu.used, q.may)
		if j == nil {
			break
		}
		if !j.first {
			q.take(j.namespace)
		}
		for _, u := range j.uses {
			q.mu.used[u.name]++
		}
		q.mu.busy[j.namespace] = true
		q.mu.running++
		q.group.Go(func() { q.do(ctx, j) })
	}
}

// may reports whether a job of a namespace, which was there at first or not, can be begun but for what others do.
func (q *queue[K, R]) may(namespace string, first bool) bool {
	return !q.mu.busy[namespace] && (first || q.allows(namespace))
}

// ready reports whether a job can be begun.
func (q *queue[K, R]) ready(j *job[K, R]) bool {
	return !slices.ContainsFunc(j.uses, func(u use) bool { return q.mu.used[u.name] >= u.most }) && q.may(j.namespace, j.first)
}

// allows reports whether the allowance of a namespace has a change left.
func (q *queue[K, R]) allows(namespace string) bool {
	if !q.limited || namespace == "" {
		return true
	}
	now := q.clock.Now()
	a := q.mu.allowed[namespace]
	if a == nil {
		a = &allowance{left: changesAtOnce, at: now}
		q.mu.allowed[namespace] = a
	}
	if earned := int(now.Sub(a.at) / changePause); earned > 0 {
		a.left, a.at = min(changesAtOnce, a.left+earned), a.at.Add(time.Duration(earned)*changePause)
	}
	return a.left > 0
}

// take takes one change from the allowance of a namespace.
func (q *queue[K, R]) take(namespace string) {
	if a := q.mu.allowed[namespace]; a != nil {
		a.left--
	}
}

func (q *queue[K, R]) do(ctx context.Context, j *job[K, R]) {
	var result R
	var err error
	if caught := plugin.Guard(plugin.InConversion, "a module of the API", q.tell, func() {
		result, err = q.work(ctx, j.key, j.ended)
	}); caught != nil {
		err = caught
	}
	q.mu.Lock()
	j.ended, j.result, j.err = true, result, err
	if j.again = (time.Time{}); err != nil {
		j.later(q.clock.Now())
	}
	j.times++
	if j.dropped {
		q.drop(j) // again, now that there is a result
	}
	delete(q.mu.busy, j.namespace)
	for _, u := range j.uses {
		if q.mu.used[u.name]--; q.mu.used[u.name] == 0 {
			delete(q.mu.used, u.name)
		}
		q.mu.waiting.free(u.name)
	}
	q.mu.waiting.unpark(j.namespace)
	q.mu.running--
	q.dispatch(ctx)
	q.mu.Unlock()
	q.done()
}
