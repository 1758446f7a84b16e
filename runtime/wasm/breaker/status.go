package breaker

import (
	"time"

	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// State says whether a plugin is called.
type State uint8

// The states.
const (
	// Closed calls the plugin.
	Closed State = iota
	// Open does not call it: every call is a fault at once.
	Open
	// HalfOpen calls it to see whether it works again.
	HalfOpen
)

// String returns the state in lower case.
func (s State) String() string {
	return [...]string{"closed", "open", "half-open"}[s]
}

// Status is a breaker at one moment.
type Status struct {
	State State
	// Opened counts how often the breaker opened, and Cause says why it opened last. If
	// it is open, the next probe is at RetryAt.
	Opened  int
	Cause   string
	RetryAt time.Time
	// Starts is the fuel charged for starts after the faults of the last 100 calls. It
	// may be up to StartsLimit.
	Starts, StartsLimit int64
	// FirstFault and LastFault are nil if there was none.
	FirstFault, LastFault *fault.Fault
	LastFaultAt           time.Time
}

// Status returns the breaker's status now.
func (b *Breaker) Status() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := Status{
		State: b.mu.state, Opened: b.mu.opened, Cause: b.mu.cause, Starts: b.mu.window.starts, StartsLimit: b.deps.RestartFuel,
		FirstFault: b.mu.first, LastFault: b.mu.last, LastFaultAt: b.mu.lastAt,
	}
	if s.State == Open {
		s.RetryAt = b.mu.until
	}
	return s
}
