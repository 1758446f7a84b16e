package queue

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/state"
)

// BackoffWindow is the unit to which ends of backoffs are rounded down. Pods whose backoffs end
// in the same window are ordered as in Active, which makes popping from Backoff respect
// priorities (KEP-5142). A backoff is over when the next window begins.
const BackoffWindow = time.Second

// backoffEnd returns the window in which a pod's backoff ends; zero if there is none. The
// backoff of a pod that failed depends on its consecutive errors, that of others on how often
// they were rejected.
func (q *Queue) backoffEnd(p *state.QueuedPod) time.Time {
	n := p.Unschedulable
	if p.Errors > 0 {
		n = p.Errors
	}
	if n == 0 || q.config.MaxBackoff == 0 {
		return time.Time{}
	}
	return p.Timestamp.Add(q.config.backoff(n)).Truncate(BackoffWindow)
}

// backoff returns min(initial·2^(n−1), max), n > 0.
func (c Config) backoff(n int) time.Duration {
	if shift := n - 1; shift < 63 && c.InitialBackoff <= c.MaxBackoff>>shift {
		return c.InitialBackoff << shift
	}
	return c.MaxBackoff
}

// backsOff reports whether the pod still has to wait at the time now.
func backsOff(p *state.QueuedPod, now time.Time) bool {
	return !p.BackoffUntil.Before(now.Truncate(BackoffWindow))
}

// flushBackoff moves pods whose backoff is over to Active, window by window, and returns how
// many. Their gates were called when the backoff began.
func (q *Queue) flushBackoff(now time.Time) (n int) {
	for {
		it, ok := q.backoff.Peek()
		if failed, any := q.errorBackoff.Peek(); any && (!ok || lessErrorBackoff(&failed.pod, &it.pod)) {
			it, ok = failed, true
		}
		if !ok || backsOff(&it.pod, now) {
			return n
		}
		q.put(it, Active, reason("BackoffComplete"))
		n++
	}
}

func (q *Queue) lessBackoff(a, b *state.QueuedPod) bool {
	if !a.BackoffUntil.Equal(b.BackoffUntil) {
		return a.BackoffUntil.Before(b.BackoffUntil)
	}
	return q.deps.Less(a, b)
}

func lessErrorBackoff(a, b *state.QueuedPod) bool { return a.BackoffUntil.Before(b.BackoffUntil) }
