package breaker

// windowCalls is how many of the last calls at a point the breaker looks at. A cycle counts as
// one call; so does each call outside of cycles.
const windowCalls = 100

// mostWeight is by how much a fault weighs more than others if it used all the fuel of a cycle.
const mostWeight = 10

// window is how the last calls at a point ended, and the fuel that starts of instances were
// charged meanwhile. Calls at other points do not change it.
type window struct {
	calls  [windowCalls]ended
	next   int // position of the next call
	faults int
	weight int   // of the faults
	starts int64 // in units of fuel
	closed int   // calls since the breaker was closed, up to windowCalls
}

// ended is how one call ended. A call without a fault has no weight.
type ended struct {
	weight uint8
	starts int64
}

// weigh returns the weight of a fault: 1, and more by the share of a cycle's fuel that it used.
func weigh(used, cycle int64) uint8 {
	if cycle <= 0 {
		return 1
	}
	return uint8(1 + mostWeight*min(max(used, 0), cycle)/cycle)
}

// add replaces the oldest call.
func (w *window) add(e ended) {
	old := &w.calls[w.next]
	w.count(*old, -1)
	*old = e
	w.count(e, 1)
	w.next = (w.next + 1) % windowCalls
	w.closed = min(w.closed+1, windowCalls)
}

// charge adds fuel for starts to the last call.
func (w *window) charge(fuel int64) {
	w.calls[(w.next+windowCalls-1)%windowCalls].starts += fuel
	w.starts += fuel
}

func (w *window) count(e ended, n int) {
	if e.weight > 0 {
		w.faults += n
	}
	w.weight += int(e.weight) * n
	w.starts += e.starts * int64(n)
}

// forgive forgets the faults, but not the fuel of starts.
func (w *window) forgive() {
	for i := range w.calls {
		w.calls[i].weight = 0
	}
	w.faults, w.weight, w.closed = 0, 0, 0
}
