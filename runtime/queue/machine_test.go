package queue_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/state"
)

// machine makes random operations on a queue and checks after each:
//
//   - every pod that was added and not deleted is in the queue, in one place;
//   - a pod is out exactly from Pop to Done (binding) and its return or deletion;
//   - events are kept only while a pod is in flight;
//   - pods move between places only as observe allows;
//   - a gated pod is never popped, and a pod in backoff only as KEP-5142 says;
//   - pops respect Less;
//   - NextDeadline is the earliest time at which something moves.
type machine struct {
	t     *rapid.T
	q     *queue.Queue
	clock *clock.Step
	known map[types.UID]*state.Pod
	out   map[types.UID]*state.QueuedPod
	bind  map[types.UID]bool
	gates map[types.UID]string
	hints []state.Requeue // drawn answers
	hint  int
	n     int
	wrong string // a forbidden transition
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		t: t, clock: clock.NewStep(time.Date(2026, 1, 1, 0, 0, 0, rapid.IntRange(0, 999_999_999).Draw(t, "start"), time.UTC)),
		known: map[types.UID]*state.Pod{}, out: map[types.UID]*state.QueuedPod{},
		bind: map[types.UID]bool{}, gates: map[types.UID]string{},
		hints: rapid.SliceOfN(rapid.SampledFrom([]state.Requeue{state.Leave, state.Leave, state.AfterBackoff, state.Immediately}), 7, 7).Draw(t, "hints"),
	}
	config := queue.DefaultConfig()
	config.MaxBackoff = rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Second, 20 * time.Minute}).Draw(t, "max backoff")
	q, err := queue.New(config, queue.Deps{
		Clock: m.clock, Less: byPriority, Observe: m.observe,
		Gate: func(pods []*state.QueuedPod, out []queue.GateResult) {
			for i, p := range pods {
				out[i].Plugin = m.gates[p.Pod.UID]
			}
		},
		Hint: func(e state.ClusterEvent, _ state.Object, pods []*state.QueuedPod, out []state.Requeue) {
			for i, p := range pods {
				if len(p.Rejectors)+len(p.Pending) == 0 {
					m.wrong = fmt.Sprintf("hints asked about %s, which no plugin rejected", p.Pod.Name)
				}
				if e.WildCard() {
					m.wrong = fmt.Sprintf("hints asked about a wildcard for %s", p.Pod.Name)
				}
				m.hint++
				out[i] = m.hints[m.hint%len(m.hints)]
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.q = q
	return m
}

func (m *machine) draw(from map[types.UID]*state.Pod) types.UID {
	if len(from) == 0 {
		m.t.Skip("no pod")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(from))).Draw(m.t, "pod")
}

func (m *machine) newPod(uid types.UID) *state.Pod {
	priority := rapid.Int32Range(0, 2).Draw(m.t, "priority")
	label := rapid.SampledFrom([]string{"x", "y"}).Draw(m.t, "label")
	return newPod(string(uid), func(p *v1.Pod) {
		p.Spec.Priority = &priority
		p.Labels = map[string]string{"l": label}
		p.Status.NominatedNodeName = rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(m.t, "nominated")
	})
}

func (m *machine) add(*rapid.T) {
	var pods []*state.Pod
	for range rapid.IntRange(1, 3).Draw(m.t, "pods") {
		m.n++
		p := m.newPod(types.UID(fmt.Sprint("p", m.n)))
		m.known[p.UID] = p
		pods = append(pods, p)
	}
	m.q.Add(pods...)
}

func (m *machine) update(*rapid.T) {
	uid := m.draw(m.known)
	p := m.newPod(uid)
	m.q.Update(m.known[uid], p)
	m.known[uid] = p
}

func (m *machine) delete(*rapid.T) {
	uid := m.draw(m.known)
	if !m.q.Delete(uid) || m.q.Delete(uid) || m.q.Has(uid) {
		m.t.Fatalf("deleting %s failed, or worked twice", uid)
	}
	if p := m.out[uid]; p != nil && m.q.AddFailed(p) {
		m.t.Fatalf("%s returned after it was deleted", uid)
	}
	delete(m.known, uid)
	delete(m.out, uid)
	delete(m.bind, uid)
}

func (m *machine) pop(*rapid.T) {
	byPlace := m.byPlace()
	p, ok := m.q.Pop()
	from := byPlace[queue.Active]
	if len(from) == 0 {
		from = byPlace[queue.Backoff]
	}
	if ok != (len(from) > 0) {
		m.t.Fatalf("Pop = %v with %d to choose from", ok, len(from))
	}
	if !ok {
		return
	}
	if p != from[0] {
		m.t.Fatalf("popped %s, not the first, %s", p.Pod.Name, from[0].Pod.Name)
	}
	for _, other := range from {
		if p.Pod.Name != other.Pod.Name && byPriority(other, p) && (len(byPlace[queue.Active]) > 0 || other.BackoffUntil.Equal(p.BackoffUntil)) {
			m.t.Fatalf("popped %s before %s", p.Pod.Name, other.Pod.Name)
		}
	}
	m.out[p.Pod.UID] = p
}

func (m *machine) drawOut() *state.QueuedPod {
	if len(m.out) == 0 {
		m.t.Skip("no pod is out")
	}
	return m.out[rapid.SampledFrom(slices.Sorted(maps.Keys(m.out))).Draw(m.t, "out")]
}

func (m *machine) done(*rapid.T) {
	uid := m.drawOut().Pod.UID
	m.q.Done(uid)
	m.bind[uid] = true
}

func (m *machine) giveBack(*rapid.T) {
	p := m.drawOut()
	p.ClearRejectors()
	plugins := rapid.SampledFrom([]string{"", "A", "B"})
	if name := plugins.Draw(m.t, "rejector"); name != "" {
		p.Rejectors = []string{name}
	}
	if name := plugins.Draw(m.t, "pending"); name != "" {
		p.Pending = []string{name}
	}
	give := rapid.SampledFrom([]func(*state.QueuedPod) bool{m.q.AddUnschedulable, m.q.AddFailed}).Draw(m.t, "how")
	if !give(p) || m.q.AddUnschedulable(p) || m.q.AddFailed(p) {
		m.t.Fatalf("returning %s failed, or worked twice", p.Pod.Name)
	}
	if p.Pod != m.known[p.Pod.UID] {
		m.t.Fatalf("%s returned in an old version", p.Pod.Name)
	}
	delete(m.out, p.Pod.UID)
	delete(m.bind, p.Pod.UID)
}

func (m *machine) event(*rapid.T) {
	name := rapid.SampledFrom([]string{"*", "Node/Add", "AssignedPod/Delete"}).Draw(m.t, "event")
	e, _ := parseEvent(name)
	m.q.Move(e, state.Object{}, nil)
}

func (m *machine) activate(*rapid.T) { m.q.Activate([]types.UID{m.draw(m.known), m.draw(m.known)}) }

func (m *machine) gate(*rapid.T) {
	m.gates[m.draw(m.known)] = rapid.SampledFrom([]string{"", "", "G", "H"}).Draw(m.t, "gate")
}

func (m *machine) nominate(*rapid.T) {
	m.q.Nominate(m.draw(m.known), rapid.SampledFrom([]string{"", "n1", "n3"}).Draw(m.t, "node"))
}

func (m *machine) advance(*rapid.T) {
	m.clock.Advance(rapid.SampledFrom([]time.Duration{time.Millisecond, 999 * time.Millisecond, time.Second,
		7 * time.Second, time.Minute, 301 * time.Second}).Draw(m.t, "by"))
}

func (m *machine) tick(*rapid.T) {
	m.q.Tick()
	for _, place := range []queue.Place{queue.Backoff, queue.ErrorBackoff} {
		for _, p := range m.byPlace()[place] {
			if p.BackoffUntil.Before(m.clock.Now().Truncate(queue.BackoffWindow)) {
				m.t.Fatalf("%s is in %v though its backoff is over", p.Pod.Name, place)
			}
		}
	}
	if m.q.Tick() != 0 {
		m.t.Fatalf("a second Tick at the same time moved pods")
	}
}

// jump goes to the next deadline, like a simulator.
func (m *machine) jump(*rapid.T) {
	m.q.Tick()
	next, ok := m.q.NextDeadline()
	if !ok {
		m.clock.Advance(24 * time.Hour)
		if m.q.Tick() != 0 {
			m.t.Fatal("pods moved though there was no deadline")
		}
		m.pop(m.t)
		return
	}
	if now := m.clock.Now(); next.After(now) {
		m.clock.Set(next.Add(-1))
		if moved := m.q.Tick(); moved != 0 {
			m.t.Fatalf("%d pods moved before the deadline", moved)
		}
		if _, ok := m.q.Pop(); ok {
			m.t.Fatal("a pod was popped before the deadline")
		}
		m.clock.Set(next)
		if m.q.Tick() == 0 {
			m.t.Fatal("nothing moved at the deadline")
		}
		return
	} else if next.Before(now) {
		m.t.Fatal("a deadline in the past")
	}
	before := len(m.out)
	if m.pop(m.t); len(m.out) == before {
		m.t.Fatal("nothing was popped at a deadline that is now")
	}
}

func TestMachine(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"add": m.add, "update": m.update, "delete": m.delete, "pop": m.pop, "pop2": m.pop, "done": m.done,
			"giveBack": m.giveBack, "giveBack2": m.giveBack, "event": m.event, "activate": m.activate, "gate": m.gate,
			"letGo": func(*rapid.T) { m.q.Ungate(m.draw(m.known), rapid.SampledFrom([]string{"G", "H"}).Draw(m.t, "gate")) },
			"release": func(*rapid.T) {
				m.q.Release(rapid.SliceOfN(rapid.SampledFrom([]string{"G", "H"}), 1, 2).Draw(m.t, "plugins")...)
			}, "nominate": m.nominate, "advance": m.advance,
			"tick": m.tick, "jump": m.jump, "": m.check,
		})
	})
}
