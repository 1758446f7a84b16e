package wasm

import (
	"fmt"
	"sync"
	"time"

	"github.com/berth-scheduler/berth/abi"
)

// BreakerConfig is when a plugin that keeps failing is left alone.
type BreakerConfig struct {
	// Faults is how many cycles or calls in a row must be faulted at one point; 0
	// means 5, negative never.
	Faults int
	// Backoff is how long it is left alone at first, and MaxBackoff at most; it
	// doubles with each failed probe. 0 means 1 s and 5 min.
	Backoff, MaxBackoff time.Duration
}

func (c *BreakerConfig) setDefaults() {
	if c.Faults == 0 {
		c.Faults = 5
	}
	if c.Backoff <= 0 {
		c.Backoff = time.Second
	}
	if c.MaxBackoff <= 0 {
		c.MaxBackoff = 5 * time.Minute
	}
	c.MaxBackoff = max(c.MaxBackoff, c.Backoff)
}

// BreakerState is whether a plugin is called.
type BreakerState uint8

// The states.
const (
	// Closed calls the plugin.
	Closed BreakerState = iota
	// Open does not call it: every call is a fault at once.
	Open
	// HalfOpen calls it to see whether it works again.
	HalfOpen
)

// String returns the state in lower case.
func (s BreakerState) String() string {
	return [...]string{"closed", "open", "half-open"}[s]
}

// breaker leaves a plugin alone that keeps failing. Cycles count as one, however
// many calls they are split into, so that its changes do not depend on the number
// of workers; they depend on the clock, which is an input.
type breaker struct {
	config BreakerConfig
	now    func() time.Time

	mu struct {
		sync.Mutex
		state   BreakerState
		streak  [abi.NumPoints]int // faults in a row
		until   time.Time          // when the next probe may be made
		backoff time.Duration
		last    *Fault
		lastAt  time.Time
		opened  int // how often it was
	}
	// closed (optional) hears that the plugin works again.
	closed func()
}

// allow reports whether the plugin may be called; if its time has come, as a
// probe.
func (b *breaker) allow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.state == Open && !b.now().Before(b.mu.until) {
		b.mu.state = HalfOpen
	}
	return b.mu.state != Open
}

// done takes in how a cycle's calls of a point, or a call outside of cycles,
// ended: with a fault, or nil.
func (b *breaker) done(point abi.Point, f *Fault) {
	recovered := b.record(point, f)
	if recovered && b.closed != nil {
		b.closed()
	}
}

func (b *breaker) record(point abi.Point, f *Fault) (recovered bool) {
	if f != nil && f.Kind == Interrupted {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if f == nil {
		b.mu.streak[point] = 0
		if b.mu.state != HalfOpen {
			return false
		}
		b.mu.state, b.mu.backoff, b.mu.streak = Closed, 0, [abi.NumPoints]int{}
		return true
	}
	b.mu.last, b.mu.lastAt = f, b.now()
	if b.config.Faults < 0 {
		return false
	}
	b.mu.streak[point]++
	switch {
	case b.mu.state == HalfOpen:
		b.mu.backoff = min(2*b.mu.backoff, b.config.MaxBackoff)
	case b.mu.state == Closed && b.mu.streak[point] >= b.config.Faults:
		b.mu.backoff = b.config.Backoff
	default:
		return false
	}
	b.mu.state, b.mu.until = Open, b.now().Add(b.mu.backoff)
	b.mu.opened++
	return false
}

// fault returns the fault of a call that is not made.
func (b *breaker) fault(p *Plugin, point abi.Point) *Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	detail, output := "the plugin is not called", ""
	if b.mu.last != nil {
		output = b.mu.last.Output
		detail = fmt.Sprintf("the plugin is not called until %s, after %s at %s: %s",
			b.mu.until.UTC().Format(time.RFC3339), b.mu.last.Kind, b.mu.last.Point, b.mu.last.Detail)
	}
	return &Fault{Plugin: p.config.Name, Digest: p.info.Digest, Point: point, Kind: BreakerOpen, Detail: detail, Output: output}
}

// retryAt returns when the next probe may be made; false if none is due.
func (b *breaker) retryAt() (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.until, b.mu.state == Open
}
