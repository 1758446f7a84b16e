package clock

import (
	"sync/atomic"
	"time"
)

// Held is a clock that stands still between readings of its source. All that is decided between two
// readings sees one time, so a list of the readings is enough to decide the same again.
//
// It advances with the source's monotonic clock, if the source has one, so it neither jumps nor goes
// back when the machine's time is set. Only one goroutine may call Read and Hold; Now and Until are
// safe for concurrent use.
type Held struct {
	source Clock
	start  time.Time // may have a monotonic part
	now    atomic.Pointer[time.Time]
}

var _ Clock = (*Held)(nil)

// NewHeld returns a clock that stands at the source's time.
func NewHeld(source Clock) *Held {
	c := &Held{source: source, start: source.Now()}
	c.Hold(c.start.Round(0))
	return c
}

// Now implements Clock.
func (c *Held) Now() time.Time { return *c.now.Load() }

// Read returns the source's time, without changing Now.
func (c *Held) Read() time.Time { return c.start.Round(0).Add(c.source.Now().Sub(c.start)) }

// Hold makes t the time that Now returns.
func (c *Held) Hold(t time.Time) { c.now.Store(&t) }

// Until implements Clock: it waits for the source.
func (c *Held) Until(t time.Time) (reached <-chan struct{}, stop func()) {
	return c.source.Until(c.start.Add(t.Sub(c.start.Round(0))))
}
