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
	Namespace string          `json:"namespace"`
	State     State           `json:"state,omitempty"`
	Well      bool            `json:"well,omitempty"`
	Streak    []int           `json:"streak,omitempty"` // by point, without the zeros at its end
	Points    []carriedWindow `json:"points,omitempty"`
	Over      bool            `json:"over,omitempty"`
	By        abi.Point       `json:"by,omitempty"`
	Until     time.Time       `json:"until"`
	Backoff   time.Duration   `json:"backoff,omitempty"`
	Cause     string          `json:"cause,omitempty"`
	Opened    int             `json:"opened,omitempty"`
	Last      *fault.Fault    `json:"last,omitempty"`
	LastAt    time.Time       `json:"lastAt"`

	// Faulted, Starts and Closed are of earlier versions, which had one window for all points.
	Faulted []int          `json:"faulted,omitempty"` // how many calls ago
	Starts  []carriedEnded `json:"starts,omitempty"`
	Closed  int            `json:"closed,omitempty"`
}

// carriedWindow is the window of a point.
type carriedWindow struct {
	Point  abi.Point      `json:"point,omitempty"`
	Ended  []carriedEnded `json:"ended,omitempty"`
	Closed int            `json:"closed,omitempty"`
}

// carriedEnded is a call with a fault, or that was charged fuel for starts.
type carriedEnded struct {
	Ago    int   `json:"ago"`
	Weight uint8 `json:"weight,omitempty"`
	Fuel   int64 `json:"fuel,omitempty"`
}

// Carried returns what the breaker carries on, with the times for which its user released pods; nil if no call of the
// plugin has been faulted.
func (b *Breaker) Carried(released map[string]time.Time) json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := carried{Turn: b.mu.turn, Opened: b.mu.opened, Released: released}
	faulted := false
	for _, m := range slices.SortedFunc(maps.Values(b.mu.of), func(x, y *machine) int { return cmp.Compare(x.used, y.used) }) {
		faulted = faulted || m.last != nil || m.starts() > 0
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
	c := carriedNamespace{
		Namespace: m.namespace, State: m.state, Well: m.well, Over: m.over, Until: m.until, Backoff: m.backoff,
		Cause: m.cause, By: m.by, Opened: m.opened, Last: m.last, LastAt: m.lastAt,
	}
	for point, n := range m.streak {
		if n > 0 {
			c.Streak = append(c.Streak, make([]int, point+1-len(c.Streak))...)
			c.Streak[point] = n
		}
	}
	for point, w := range m.windows {
		if w != nil {
			c.Points = append(c.Points, w.carried(abi.Point(point)))
		}
	}
	return c
}

func (w *window) carried(point abi.Point) carriedWindow {
	c := carriedWindow{Point: point, Closed: w.closed}
	for ago := range windowCalls {
		if e := w.calls[(w.next+windowCalls-1-ago)%windowCalls]; e != (ended{}) {
			c.Ended = append(c.Ended, carriedEnded{Ago: ago, Weight: e.weight, Fuel: e.starts})
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
	if c.State > HalfOpen || len(c.Streak) > int(abi.NumPoints) || c.By >= abi.NumPoints {
		return nil, fmt.Errorf("%+v is not the state of a breaker", *c)
	}
	m := &machine{
		namespace: c.Namespace, state: c.State, well: c.Well, over: c.Over, until: c.Until, backoff: c.Backoff,
		cause: c.Cause, by: c.By, opened: c.Opened, lastAt: c.LastAt,
	}
	copy(m.streak[:], c.Streak)
	if c.Last != nil {
		m.last = fault.New(*c.Last)
	}
	points := c.Points
	if len(c.Faulted)+len(c.Starts) > 0 || c.Closed != 0 {
		points = append(points, c.earlier(m.last))
	}
	for i := range points {
		p := &points[i]
		if p.Point >= abi.NumPoints || m.windows[p.Point] != nil {
			return nil, fmt.Errorf("a breaker with point %d, of %d, once more", p.Point, abi.NumPoints)
		}
		w, err := p.resume()
		if err != nil {
			return nil, err
		}
		m.windows[p.Point] = w
	}
	return m, nil
}

// earlier returns the window of an earlier version, as that of the last fault's point.
func (c *carriedNamespace) earlier(last *fault.Fault) carriedWindow {
	w := carriedWindow{Closed: c.Closed, Ended: c.Starts}
	if last != nil {
		w.Point = last.Point
	}
	for _, ago := range c.Faulted {
		w.Ended = append(w.Ended, carriedEnded{Ago: ago, Weight: 1})
	}
	return w
}

func (c *carriedWindow) resume() (*window, error) {
	var calls [windowCalls]ended // the oldest first
	for _, e := range c.Ended {
		if e.Ago < 0 || e.Ago >= windowCalls || e.Weight > 1+mostWeight || e.Fuel < 0 {
			return nil, fmt.Errorf("%+v is not a call that a breaker knows", e)
		}
		call := &calls[windowCalls-1-e.Ago]
		call.weight, call.starts = max(call.weight, e.Weight), call.starts+e.Fuel
	}
	if c.Closed < 0 || c.Closed > windowCalls {
		return nil, fmt.Errorf("a breaker with %d of %d calls since it was closed", c.Closed, windowCalls)
	}
	w := &window{}
	for _, e := range calls {
		w.add(e)
	}
	w.closed = c.Closed
	return w, nil
}
