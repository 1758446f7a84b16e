package wasm

// windowCalls is how many of the last calls the breaker looks back on: cycles count as
// one call each, calls outside of cycles by themselves.
const windowCalls = 100

// window is how the last calls of a plugin ended, and what starts after their faults
// were charged.
type window struct {
	calls  [windowCalls]ended
	next   int // position of the next call
	faults int
	starts int64 // in units of fuel
}

// ended is how one call did.
type ended struct {
	faulted bool
	starts  int64
}

// add notes a call in place of the oldest.
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

// forgive forgets the faults, but not what starts were charged.
func (w *window) forgive() {
	for i := range w.calls {
		w.calls[i].faulted = false
	}
	w.faults = 0
}
