package scheduler

import "sync/atomic"

// unsent counts the binding cycles that wait only for their binding to be sent. While there are as many as may be, no pod is
// tried: its decision would be old when it is sent. A replay need not count, because it repeats the recorded turns of the loop.
type unsent struct {
	most int64 // 0 for no limit
	now  atomic.Int64
	wake func() // the loop
}

// full reports whether no more pods are to be tried now. The loop is woken when that changes.
func (u *unsent) full() bool { return u.most > 0 && u.now.Load() >= u.most }

// begin counts a binding cycle until set(false), and again after set(true). Any goroutine may call set.
func (u *unsent) begin() (set func(waits bool)) {
	var counted atomic.Bool
	set = func(waits bool) {
		switch {
		case counted.Swap(waits) == waits:
		case waits:
			u.now.Add(1)
		case u.now.Add(-1) == u.most-1:
			u.wake()
		}
	}
	set(true)
	return set
}
