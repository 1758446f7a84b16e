package breaker

// windowCalls is how many of the last calls the breaker looks at. A cycle counts as one
// call; so does each call outside of cycles.
const windowCalls = 100

// window is how the last calls of a plugin ended, and the fuel that starts after their
// faults were charged.
type window struct {
	calls  [windowCalls]ended
	next   int // position of the next call
	faults int
	starts int64 // in units of fuel
}

// ended is how one call ended.
type ended struct {
	faulted bool
	starts  int64
}

// add replaces the oldest call.
func (w *window) add(e ended) {
	old := &w.calls[w.next]
	w.count(*old, -1)
	*old = e
	w.count(e, 1)
	w.next = (w.next + 1) % windowCalls
}

func (w *window) count(e ended, n int) {
	if e.faulted {
		w.faults += n
	}
	w.starts += e.starts * int64(n)
}

// forgive forgets the faults, but not the fuel of starts.
func (w *window) forgive() {
	for i := range w.calls {
		w.calls[i].faulted = false
	}
	w.faults = 0
}
