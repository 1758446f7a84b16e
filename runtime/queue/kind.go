package queue

import (
	"github.com/berth-scheduler/berth/runtime/state"
)

// Rejection is what a parked or gated pod waits for.
type Rejection struct {
	Profile            string
	GatedBy            string
	Rejectors, Pending []string
}

// kind counts the pods that wait for the same in the same place.
type kind struct {
	key       string
	place     Place
	rejection Rejection
	pods      int
	open      bool // for the event of the latest call of open
}

// wait counts a pod in its kind, and unwait takes it out again.
func (q *Queue) wait(it *item) {
	p := &it.pod
	key := append(q.scratch[:0], byte(it.place))
	for _, names := range [...][]string{{p.Pod.Profile, p.GatedBy}, p.Rejectors, p.Pending} {
		for _, name := range names {
			key = append(append(key, name...), 0)
		}
		key = append(key, 0)
	}
	q.scratch = key
	k := q.kinds[string(key)]
	if k == nil {
		k = &kind{
			key: string(key), place: it.place,
			rejection: Rejection{Profile: p.Pod.Profile, GatedBy: p.GatedBy, Rejectors: p.Rejectors, Pending: p.Pending},
		}
		q.kinds[k.key] = k
	}
	k.pods++
	it.kind = k
	if !p.RetryAt.IsZero() {
		q.retries.push(it)
	}
}

func (q *Queue) unwait(it *item) {
	k := it.kind
	if k == nil {
		return
	}
	it.kind = nil
	q.retries.remove(it)
	if k.pods--; k.pods == 0 {
		delete(q.kinds, k.key)
	}
}

// open says for each kind of pods in a place whether an event could help them, and whether it could help any.
func (q *Queue) open(place Place, event state.ClusterEvent) (any bool) {
	for _, k := range q.kinds {
		if k.place != place {
			continue
		}
		k.open = event.WildCard() || q.deps.Helps == nil || q.deps.Helps(event, k.rejection)
		any = any || k.open
	}
	return any
}
