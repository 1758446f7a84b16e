// Package clock is the scheduler's source of time. Time is an input: code that
// decides reads a Clock, which a simulation or a replay steps by hand. Only
// measurements read the machine's clock.
package clock

import (
	"sync"
	"time"
)

// Clock is the time that decisions depend on.
type Clock interface {
	Now() time.Time
	// Until returns a channel that is closed when the clock reaches t. stop gives
	// up waiting and may be called at any time.
	Until(t time.Time) (reached <-chan struct{}, stop func())
}

// Real is the machine's clock.
type Real struct{}

var _ Clock = Real{}

// Now returns the current time.
func (Real) Now() time.Time { return time.Now() }

// Until implements Clock.
func (Real) Until(t time.Time) (reached <-chan struct{}, stop func()) {
	c := make(chan struct{})
	timer := time.AfterFunc(time.Until(t), func() { close(c) })
	return c, func() { timer.Stop() }
}

// Step is a clock that only Advance and Set move. It is safe for concurrent use.
type Step struct {
	mu struct {
		sync.Mutex
		now     time.Time
		waiters map[chan struct{}]time.Time
	}
}

var _ Clock = (*Step)(nil)

// NewStep returns a clock that stands at start.
func NewStep(start time.Time) *Step {
	c := &Step{}
	c.mu.now = start
	return c
}

// Now returns the time that the clock stands at.
func (c *Step) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.now
}

// Until implements Clock.
func (c *Step) Until(t time.Time) (reached <-chan struct{}, stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := make(chan struct{})
	if !c.mu.now.Before(t) {
		close(w)
		return w, func() {}
	}
	if c.mu.waiters == nil {
		c.mu.waiters = make(map[chan struct{}]time.Time)
	}
	c.mu.waiters[w] = t
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.mu.waiters, w)
	}
}

// Advance moves the clock on by d.
func (c *Step) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(c.mu.now.Add(d))
}

// Set moves the clock to t. A clock never goes back: an earlier t is ignored.
func (c *Step) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(t)
}

func (c *Step) set(t time.Time) {
	if !t.After(c.mu.now) {
		return
	}
	c.mu.now = t
	for w, at := range c.mu.waiters {
		if !t.Before(at) {
			close(w)
			delete(c.mu.waiters, w)
		}
	}
}

// Stopwatch measures how long something took, on the machine's monotonic clock.
// No decision may depend on it.
type Stopwatch struct{ start time.Time }

// Start returns a running stopwatch.
func Start() Stopwatch { return Stopwatch{start: time.Now()} }

// Elapsed returns the time since Start.
func (w Stopwatch) Elapsed() time.Duration { return time.Since(w.start) }
