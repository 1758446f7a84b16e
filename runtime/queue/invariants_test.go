package queue_test

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// observe checks that a transition is part of the life cycle.
func (m *machine) observe(x queue.Transition) {
	now := m.clock.Now()
	over := x.Pod.BackoffUntil.Before(now.Truncate(queue.BackoffWindow))
	ok := x.To == queue.Nowhere
	switch x.Event.Label {
	case "Pop":
		ok = x.From == queue.Active && x.To == queue.InFlight
	case "PopFromBackoffQ":
		ok = x.From == queue.Backoff && x.To == queue.InFlight
	case "Done":
		ok = x.From == queue.InFlight && x.To == queue.Binding
	case "BackoffComplete":
		ok = (x.From == queue.Backoff || x.From == queue.ErrorBackoff) && x.To == queue.Active && over
	case "Ungate":
		ok = x.From == queue.Gated && x.To == queue.Unschedulable
	case "ForceActivate":
		ok = x.From != queue.InFlight && x.From != queue.Binding && (x.To == queue.Active || x.To == queue.Gated)
	default:
		waiting := x.From == queue.Unschedulable || x.From == queue.Gated || x.From == queue.Nowhere
		switch x.To {
		case queue.Active, queue.Gated:
			ok = waiting || x.From == queue.InFlight || x.From == queue.Binding
		case queue.Backoff, queue.ErrorBackoff:
			ok = (waiting || x.From == queue.InFlight || x.From == queue.Binding) && !over
		case queue.Unschedulable:
			ok = x.From == queue.InFlight
		}
	}
	if x.To == queue.Active && x.Pod.GatedBy != "" || (x.To == queue.Gated) != (x.Pod.GatedBy != "") && x.To != queue.Nowhere {
		ok = false
	}
	if !ok {
		m.wrong = fmt.Sprintf("%s: %v -> %v (%s)", x.Pod.Pod.Name, x.From, x.To, eventName(x.Event))
	}
}

func (m *machine) byPlace() map[queue.Place][]*state.QueuedPod {
	all := map[queue.Place][]*state.QueuedPod{}
	for place, p := range m.q.All() {
		all[place] = append(all[place], p)
	}
	return all
}

// check checks the invariants after every operation.
func (m *machine) check(*rapid.T) {
	if m.wrong != "" {
		m.t.Fatal(m.wrong)
	}
	seen := map[types.UID]queue.Place{}
	all := m.byPlace()
	for place, pods := range all {
		for _, p := range pods {
			if was, twice := seen[p.Pod.UID]; twice {
				m.t.Fatalf("%s is in %v and %v", p.Pod.Name, was, place)
			}
			seen[p.Pod.UID] = place
			if got, at := m.q.Get(p.Pod.UID); got != p || at != place {
				m.t.Fatalf("Get(%s) is at %v, All at %v", p.Pod.Name, at, place)
			}
			if _, out := m.out[p.Pod.UID]; !out && p.Pod != m.known[p.Pod.UID] {
				m.t.Fatalf("%s is an old version", p.Pod.Name)
			}
		}
	}
	if len(seen) != len(m.known) {
		m.t.Fatalf("%d pods in the queue, want %d", len(seen), len(m.known))
	}
	for uid := range m.known {
		want := m.out[uid] != nil
		if out := seen[uid] == queue.InFlight || seen[uid] == queue.Binding; out != want {
			m.t.Fatalf("%s is at %v, out: %v", uid, seen[uid], want)
		}
		if (seen[uid] == queue.Binding) != m.bind[uid] {
			m.t.Fatalf("%s is at %v, binding: %v", uid, seen[uid], m.bind[uid])
		}
	}
	c := m.q.Pending()
	if got, want := []int{c.Active, c.Backoff, c.ErrorBackoff, c.Unschedulable, c.Gated, c.InFlight, c.Binding},
		[]int{len(all[queue.Active]), len(all[queue.Backoff]), len(all[queue.ErrorBackoff]), len(all[queue.Unschedulable]),
			len(all[queue.Gated]), len(all[queue.InFlight]), len(all[queue.Binding])}; !slices.Equal(got, want) {
		m.t.Fatalf("Pending = %v, want %v", got, want)
	}
	byName, popped := m.q.InFlight()
	events := 0
	for _, n := range byName {
		events += n
	}
	if events != m.q.InFlightEvents() || popped != c.InFlight {
		m.t.Fatalf("%d events by name and %d pods in flight, want %d and %d", events, popped, m.q.InFlightEvents(), c.InFlight)
	}
	if c.InFlight == 0 && m.q.InFlightEvents() != 0 {
		m.t.Fatalf("%d events are kept, but no pod is in flight", m.q.InFlightEvents())
	}
	m.checkNominations()
}

func (m *machine) checkNominations() {
	last, n := "", 0
	m.q.Nominations().Nodes(func(node string, pods []*state.Pod) bool {
		if node <= last || len(pods) == 0 {
			m.t.Fatalf("node %q with %d pods after %q", node, len(pods), last)
		}
		last, n = node, n+len(pods)
		for _, p := range pods {
			if m.known[p.UID] == nil {
				m.t.Fatalf("%s is nominated but unknown", p.Name)
			}
		}
		return true
	})
	if n != m.q.Nominations().Len() {
		m.t.Fatalf("Len = %d, Nodes has %d", m.q.Nominations().Len(), n)
	}
}
