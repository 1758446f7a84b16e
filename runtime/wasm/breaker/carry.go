package breaker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

// carried is what a breaker carries on, in a checkpoint of a recording.
type carried struct {
	// Namespaces are in the order of their last calls.
	Namespaces []carriedNamespace `json:"namespaces"`
	Turn       time.Time          `json:"turn"`
	Opened     int                `json:"opened,omitempty"`
	// Released is the times for which pods of plugins were released, by namespace.
	Released map[string]time.Time `json:"released,omitempty"`
}

type carriedNamespace struct {
	Namespace string        `json:"namespace"`
	State     State         `json:"state,omitempty"`
	Well      bool          `json:"well,omitempty"`
	Streak    []int         `json:"streak,omitempty"`  // by point, without the zeros at its end
	Faulted   []int         `json:"faulted,omitempty"` // how many calls ago
	Starts    []spent       `json:"starts,omitempty"`
	Over      bool          `json:"over,omitempty"`
	Closed    int           `json:"closed,omitempty"`
	Until     time.Time     `json:"until"`
	Backoff   time.Duration `json:"backoff,omitempty"`
	Cause     string        `json:"cause,omitempty"`
	Opened    int           `json:"opened,omitempty"`
	Last      *fault.Fault  `json:"last,omitempty"`
	LastAt    time.Time     `json:"lastAt"`
}

// spent is the fuel of starts after a call.
type spent struct {
	Ago  int   `json:"ago"`
	Fuel int64 `json:"fuel"`
}

// Carried returns what the breaker carries on, with the times for which its user released pods; nil if no call of the
// plugin has been faulted.
func (b *Breaker) Carried(released map[string]time.Time) json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := carried{Turn: b.mu.turn, Opened: b.mu.opened, Released: released}
	faulted := false
	for _, m := range slices.SortedFunc(maps.Values(b.mu.of), func(x, y *machine) int { return cmp.Compare(x.used, y.used) }) {
		faulted = faulted || m.last != nil || m.window.starts > 0
		c.Namespaces = append(c.Namespaces, m.carried())
	}
	if !faulted {
		return nil
	}
	out, err := json.Marshal(&c)
	if err != nil {
		panic(fmt.Sprintf("BUG: a breaker has no JSON: %v", err))
	}
	return out
}

func (m *machine) carried() carriedNamespace {
	w := &m.window
	c := carriedNamespace{
		Namespace: m.namespace, State: m.state, Well: m.well, Over: m.over, Closed: m.closed, Until: m.until, Backoff: m.backoff,
		Cause: m.cause, Opened: m.opened, Last: m.last, LastAt: m.lastAt,
	}
	for point, n := range m.streak {
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
	return c
}

// Resume sets what Carried returned, and returns the times that Carried was given. Of a breaker that had one state for
// all namespaces, it takes nothing.
//
// # Errors
//
// It is not what Carried returns.
func (b *Breaker) Resume(data json.RawMessage) (released map[string]time.Time, err error) {
	var c carried
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	if len(c.Namespaces) > maxNamespaces+1 {
		return nil, fmt.Errorf("a breaker with %d namespaces", len(c.Namespaces))
	}
	of := make(map[string]*machine)
	for i := range c.Namespaces {
		m, err := c.Namespaces[i].resume()
		if err != nil {
			return nil, err
		}
		if of[m.namespace] != nil {
			return nil, fmt.Errorf("a breaker with namespace %q twice", m.namespace)
		}
		m.used = uint64(i + 1)
		of[m.namespace] = m
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.of, b.mu.calls, b.mu.turn, b.mu.opened = of, uint64(len(of)), c.Turn, c.Opened
	b.mu.first, b.mu.last = nil, nil
	for _, m := range of {
		if m.last != nil && (b.mu.last == nil || m.lastAt.After(b.mu.lastAt)) {
			b.mu.last, b.mu.lastAt = m.last, m.lastAt
		}
	}
	b.mu.first = b.mu.last
	return c.Released, nil
}

func (c *carriedNamespace) resume() (*machine, error) {
	within := func(ago int) bool { return 0 <= ago && ago < windowCalls }
	if c.State > HalfOpen || len(c.Streak) > int(abi.NumPoints) || !within(c.Closed-1) && c.Closed != 0 ||
		slices.ContainsFunc(c.Faulted, func(ago int) bool { return !within(ago) }) ||
		slices.ContainsFunc(c.Starts, func(s spent) bool { return !within(s.Ago) || s.Fuel < 0 }) {
		return nil, fmt.Errorf("%+v is not the state of a breaker", *c)
	}
	var calls [windowCalls]ended // the oldest first
	for _, ago := range c.Faulted {
		calls[windowCalls-1-ago].faulted = true
	}
	for _, s := range c.Starts {
		calls[windowCalls-1-s.Ago].starts = s.Fuel
	}
	m := &machine{
		namespace: c.Namespace, state: c.State, well: c.Well, over: c.Over, closed: c.Closed, until: c.Until, backoff: c.Backoff,
		cause: c.Cause, opened: c.Opened, lastAt: c.LastAt,
	}
	for _, e := range calls {
		m.window.add(e)
	}
	copy(m.streak[:], c.Streak)
	if c.Last != nil {
		m.last = fault.New(*c.Last)
	}
	return m, nil
}
