package breaker

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-scheduler/berth/internal/plain"
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
	// State is not Closed if the breaker is open for everybody, or not closed for any
	// namespace that has called the plugin.
	State State
	// Opened counts how often the breaker opened, for any namespace, and Cause says why it opened last. If
	// it is open, the next probe is at RetryAt.
	Opened  int
	Cause   string
	RetryAt time.Time
	// Starts is the fuel charged for starts of instances during the last 100 calls, for the
	// namespace with the most. It may be up to StartsLimit.
	Starts, StartsLimit int64
	// FirstFault and LastFault are nil if there was none.
	FirstFault, LastFault *fault.Fault
	LastFaultAt           time.Time
	// Everybody says that the plugin is called for no namespace but as a probe. Namespaces are those
	// for which it failed, so that it is not closed for them, by name.
	Everybody  bool
	Namespaces []NamespaceStatus
}

// Whose says for which pods the plugin is not called, as the end of a sentence; nothing if it is called for all.
func (s *Status) Whose() string {
	switch n := len(s.Namespaces); {
	case s.Everybody:
		return " for pods of any namespace"
	case n == 0:
		return ""
	case n == 1:
		return " for pods of namespace " + s.Namespaces[0].Namespace
	}
	names := make([]string, len(s.Namespaces))
	for i := range names {
		names[i] = s.Namespaces[i].Namespace
	}
	return " for pods of namespaces " + plain.List(names, ", ", maxWhose, "namespaces")
}

// maxWhose bounds the names that Whose lists, in bytes.
const maxWhose = 256

// NamespaceStatus is a breaker for one namespace, or for all beyond the bound.
type NamespaceStatus struct {
	Namespace string
	State     State
	Opened    int
	Cause     string
	RetryAt   time.Time
	LastFault *fault.Fault
}

// Status returns the breaker's status now.
func (b *Breaker) Status() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := Status{Opened: b.mu.opened, StartsLimit: b.deps.RestartFuel, FirstFault: b.mu.first, LastFault: b.mu.last, LastFaultAt: b.mu.lastAt}
	var newest *machine
	for _, m := range b.mu.of {
		s.Starts = max(s.Starts, m.starts())
		if m.cause != "" && (newest == nil || m.until.After(newest.until) || m.until.Equal(newest.until) && m.namespace < newest.namespace) {
			newest = m
		}
		if m.state == Closed {
			continue
		}
		n := NamespaceStatus{Namespace: cmp.Or(m.namespace, "(others)"), State: m.state, Opened: m.opened, Cause: m.cause, LastFault: m.last}
		if m.state == Open {
			n.RetryAt = m.until
		}
		s.Namespaces = append(s.Namespaces, n)
	}
	if newest != nil {
		s.Cause = newest.cause
	}
	slices.SortFunc(s.Namespaces, func(x, y NamespaceStatus) int { return cmp.Compare(x.Namespace, y.Namespace) })
	s.Everybody = b.everybody()
	if len(s.Namespaces) == 0 || len(s.Namespaces) < len(b.mu.of) && !s.Everybody {
		return s
	}
	s.State = Open
	for i := range s.Namespaces {
		switch n := &s.Namespaces[i]; {
		case n.State == HalfOpen:
			s.State, s.RetryAt = HalfOpen, time.Time{}
			return s
		case s.RetryAt.IsZero() || n.RetryAt.Before(s.RetryAt):
			s.RetryAt = n.RetryAt
		}
	}
	return s
}
