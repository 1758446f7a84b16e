// Package workers runs functions beside their callers, on goroutines that stay for the next function. A new
// goroutine begins with a small stack. A request to the API server needs a larger one, and the stack is copied
// each time that it doubles.
package workers

import (
	"sync"
	"time"
)

const (
	// mostIdle is the maximum number of goroutines that wait for a function.
	mostIdle = 32
	// period is how long a goroutine may stay without a function: between one and two of these.
	period = 10 * time.Second
)

// Workers run functions. The zero value is ready for use.
//
// mu guards all fields, and nothing is called while it is held.
type Workers struct {
	mu sync.Mutex
	// idle are the goroutines that wait; the last one waits for the shortest time and is used first. So the
	// first ones are those that are not needed.
	idle []chan func()
	// unused is the smallest length of idle in this period.
	unused int
	timer  *time.Timer // ends the period; nil while no goroutine waits
	closed bool
}

// Go calls run in another goroutine, at once, however many run already.
func (w *Workers) Go(run func()) {
	w.mu.Lock()
	last := len(w.idle) - 1
	if last < 0 {
		w.mu.Unlock()
		go w.work(run)
		return
	}
	worker := w.idle[last]
	w.idle = w.idle[:last]
	w.unused = min(w.unused, last)
	w.mu.Unlock()
	worker <- run // it has room for one
}

// Close ends the goroutines that wait. Those that work end after their function, and Go still works.
func (w *Workers) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.end(len(w.idle))
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

func (w *Workers) work(run func()) {
	var more chan func()
	for run != nil {
		run()
		if more == nil {
			more = make(chan func(), 1)
		}
		if !w.wait(more) {
			return
		}
		run = <-more
	}
}

// wait makes a goroutine an idle one, unless there are enough.
func (w *Workers) wait(worker chan func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) == mostIdle {
		return false
	}
	w.idle = append(w.idle, worker)
	if w.timer == nil {
		w.unused = 0
		w.timer = time.AfterFunc(period, w.trim) //nolint:forbidigo // nothing is decided by it
	}
	return true
}

// trim ends the goroutines that nobody used in a period.
func (w *Workers) trim() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil { // it was closed
		return
	}
	w.end(w.unused)
	if w.unused = len(w.idle); w.unused == 0 {
		w.timer = nil
		return
	}
	w.timer.Reset(period)
}

// end ends the first n of the goroutines that wait.
func (w *Workers) end(n int) {
	for _, worker := range w.idle[:n] {
		close(worker)
	}
	kept := copy(w.idle, w.idle[n:])
	clear(w.idle[kept:])
	w.idle = w.idle[:kept]
}
