package assembly

import (
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/wasm"
)

// overruns returns what numbers the calls of a plugin, if there is a recorder, and ends those that a recording says;
// and what tells the recorder of the calls that did not end by themselves.
func (a *Assembly) overruns(profile, plugin string) (before func(*wasm.Overrun) bool, ended func(*wasm.Overrun)) {
	if a.deps.Recorder == nil {
		return nil, nil
	}
	event := func(o *wasm.Overrun) *inbox.Overrun {
		return &inbox.Overrun{
			Profile: profile, Plugin: plugin, Point: o.Point.String(), Block: uint64(o.Block), Pod: o.Pod, Call: o.Call,
			Interrupted: o.Interrupted, Fuel: uint64(o.Fuel), Detail: o.Detail, Output: o.Output, Trace: o.Trace,
		}
	}
	calls := newNumbers[call](&a.events)
	before = func(o *wasm.Overrun) bool {
		o.Call = calls.number(call{o.Point, o.Block, o.Pod})
		if a.deps.Overrun == nil {
			return false
		}
		e := event(o)
		if !a.deps.Overrun(e) {
			return false
		}
		o.Interrupted, o.Fuel, o.Detail, o.Output, o.Trace = e.Interrupted, int64(e.Fuel), e.Detail, e.Output, e.Trace
		return true
	}
	return before, func(o *wasm.Overrun) { a.deps.Recorder.Enter(event(o)) }
}

// call is what calls of a plugin that are alike have in common.
type call struct {
	point abi.Point
	block uint32
	pod   types.UID
}

// numbers numbers what is alike during an event.
type numbers[K comparable] struct {
	events *atomic.Uint64 // so far
	mu     sync.Mutex     // workers work concurrently
	event  uint64
	next   map[K]uint64
}

func newNumbers[K comparable](events *atomic.Uint64) *numbers[K] {
	return &numbers[K]{events: events, next: make(map[K]uint64)}
}

// number returns how many came before.
func (n *numbers[K]) number(of K) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if event := n.events.Load(); event != n.event {
		n.event = event
		clear(n.next)
	}
	number := n.next[of]
	n.next[of]++
	return number
}

// counted is a recorder that counts what the loop tells it.
type counted struct {
	inbox.Recorder
	events *atomic.Uint64
}

var _ inbox.Segmented = counted{}

// counted returns the recorder for the loop; nil if there is none.
func (a *Assembly) counted() inbox.Recorder {
	if a.deps.Recorder == nil {
		return nil
	}
	return counted{a.deps.Recorder, &a.events}
}

// Enter implements inbox.Recorder.
func (c counted) Enter(e inbox.Event) {
	c.events.Add(1)
	c.Recorder.Enter(e)
}

// Full implements inbox.Segmented.
func (c counted) Full() bool {
	s, ok := c.Recorder.(inbox.Segmented)
	return ok && s.Full()
}

// Begin implements inbox.Segmented.
func (c counted) Begin() { c.Recorder.(inbox.Segmented).Begin() }
