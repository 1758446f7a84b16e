package tenants

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// pace is the time between two pods that arrive.
const pace = 4 * time.Millisecond

// arrival is what happened to a pod: when it arrived, how long it waited for its first attempt, and
// how long that took.
type arrival struct {
	at          time.Time
	waited, try time.Duration
	tried       bool
}

// times are those of pods that arrived at an even pace.
type times struct {
	// Decided is the p99 of the time from a pod's arrival to the end of its first attempt, and Try that
	// of the attempt alone.
	Decided, Try time.Duration
	// Pause is the longest time that a pod waited for its attempt, and LongestTry the longest attempt.
	Pause, LongestTry time.Duration
}

// steady has pods of a namespace arrive at an even pace until n have come and more reports false,
// and measures what happens to them. beside (optional) is a pod that arrives with the i-th.
func (w *world) steady(ctx context.Context, namespace, prefix string, n int, more func() bool, beside func(i int) *state.Pod) (times, error) {
	var uids []types.UID
	defer func() {
		w.mu.Lock()
		for _, uid := range uids {
			delete(w.arrivals, uid)
		}
		w.mu.Unlock()
		w.remove(prefix, len(uids))
	}()
	begun := time.Now()
	for i := 0; i < n || more(); i++ {
		if err := sleepUntil(ctx, begun.Add(time.Duration(i)*pace)); err != nil {
			return times{}, err
		}
		arrive := []*state.Pod{newPod(namespace, fmt.Sprint(prefix, i))}
		uids = append(uids, arrive[0].UID)
		if beside != nil {
			if p := beside(i); p != nil {
				arrive = append([]*state.Pod{p}, arrive...) // the loop takes it first
			}
		}
		w.mu.Lock()
		w.arrivals[uids[i]] = &arrival{at: time.Now()}
		w.mu.Unlock()
		w.assembly.Scheduler.SetPods(arrive...)
	}
	err := w.await(ctx, func() bool {
		return !slices.ContainsFunc(uids, func(uid types.UID) bool { return !w.arrivals[uid].tried })
	})
	if err != nil {
		return times{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var decided, tries []time.Duration
	out := times{}
	for _, uid := range uids {
		a := w.arrivals[uid]
		decided, tries = append(decided, a.waited+a.try), append(tries, a.try)
		out.Pause, out.LongestTry = max(out.Pause, a.waited), max(out.LongestTry, a.try)
	}
	out.Decided, out.Try = p99(decided), p99(tries)
	return out, nil
}

func sleepUntil(ctx context.Context, t time.Time) error {
	select {
	case <-time.After(time.Until(t)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func p99(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*99/100]
}

// attempted notes the first attempt of a pod that arrived in steady. The caller holds w.mu.
func (w *world) attempted(uid types.UID, try time.Duration) {
	if a := w.arrivals[uid]; a != nil && !a.tried {
		a.tried, a.try = true, try
		a.waited = max(0, time.Since(a.at)-try)
	}
}
