package breaker

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// carried is what a breaker carries on, in a checkpoint of a recording.
type carried struct {
	State   State         `json:"state,omitempty"`
	Streak  []int         `json:"streak,omitempty"`  // by point, without the zeros at its end
	Faulted []int         `json:"faulted,omitempty"` // how many calls ago
	Starts  []spent       `json:"starts,omitempty"`
	Over    bool          `json:"over,omitempty"`
	Closed  int           `json:"closed,omitempty"`
	Until   time.Time     `json:"until"`
	Backoff time.Duration `json:"backoff,omitempty"`
	Cause   string        `json:"cause,omitempty"`
	Opened  int           `json:"opened,omitempty"`
	Last    *fault.Fault  `json:"last,omitempty"`
	LastAt  time.Time     `json:"lastAt"`
}

// spent is the fuel of starts after a call.
type spent struct {
	Ago  int   `json:"ago"`
	Fuel int64 `json:"fuel"`
}

// Carried returns what the breaker carries on; nil if no call of the plugin has been faulted.
func (b *Breaker) Carried() json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &b.mu.window
	if b.mu.last == nil && w.starts == 0 {
		return nil
	}
	c := carried{
		State: b.mu.state, Over: b.mu.over, Closed: b.mu.closed, Until: b.mu.until, Backoff: b.mu.backoff,
		Cause: b.mu.cause, Opened: b.mu.opened, Last: b.mu.last, LastAt: b.mu.lastAt,
	}
	for point, n := range b.mu.streak {
		if n > 0 {
			c.Streak = append(c.Streak, make([]int, point+1-len(c.Streak))...)
			c.Streak[point] = n
		}
	}
	for ago := range windowCalls {
		e := w.calls[(w.next+windowCalls-1-ago)%windowCalls]
		if e.faulted {
			c.Faulted = append(c.Faulted, ago)
		}
		if e.starts > 0 {
			c.Starts = append(c.Starts, spent{ago, e.starts})
		}
	}
	out, err := json.Marshal(&c)
	if err != nil {
		panic(fmt.Sprintf("BUG: a breaker has no JSON: %v", err))
	}
	return out
}

// Resume sets what Carried returned.
//
// # Errors
//
// It is not what Carried returns.
func (b *Breaker) Resume(data json.RawMessage) error {
	var c carried
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	var calls [windowCalls]ended // the oldest first
	within := func(ago int) bool { return 0 <= ago && ago < windowCalls }
	if c.State > HalfOpen || len(c.Streak) > int(abi.NumPoints) || !within(c.Closed-1) && c.Closed != 0 ||
		slices.ContainsFunc(c.Faulted, func(ago int) bool { return !within(ago) }) ||
		slices.ContainsFunc(c.Starts, func(s spent) bool { return !within(s.Ago) || s.Fuel < 0 }) {
		return fmt.Errorf("%s is not the state of a breaker", data)
	}
	for _, ago := range c.Faulted {
		calls[windowCalls-1-ago].faulted = true
	}
	for _, s := range c.Starts {
		calls[windowCalls-1-s.Ago].starts = s.Fuel
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.window = window{}
	for _, e := range calls {
		b.mu.window.add(e)
	}
	b.mu.streak = [abi.NumPoints]int{}
	copy(b.mu.streak[:], c.Streak)
	b.mu.state, b.mu.over, b.mu.closed, b.mu.until, b.mu.backoff = c.State, c.Over, c.Closed, c.Until, c.Backoff
	b.mu.cause, b.mu.opened, b.mu.lastAt = c.Cause, c.Opened, c.LastAt
	b.mu.last = nil
	if c.Last != nil {
		b.mu.last = fault.New(*c.Last)
	}
	b.mu.first = b.mu.last
	return nil
}
