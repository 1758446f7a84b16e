package wasm

import (
	"cmp"
	"slices"
	"sync"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// starts has what starts of instances cost that no fault is charged for: regions were too small, an instance grew too
// large, or there must be another number of them. When they happen depends on what was in the cluster before, and on
// binding cycles. So the scheduler makes an event of them, which the breaker learns of in a replay, too.
type starts struct {
	mu sync.Mutex
	// free is how many instances of a kind were started that had not been there before, and paid how many starts
	// are left of those that faults were charged for.
	free, paid [numKinds]int
	counts     StartCounts
	pending    []plugin.Start // by namespace and point
}

// StartCounts counts starts of instances: the First of each, those in place of one that was Lost because a call failed or it had
// grown too large, and those because it must be Resized, or there must be another number of them.
type StartCounts struct{ First, Lost, Resized int64 }

// kind tells instances for cycles from those for all other points.
type kind int

const (
	ofCycles kind = iota
	ofAux
	numKinds
)

// pay counts a start that a fault was charged for.
func (s *starts) pay(k kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paid[k]++
}

// owes counts a start, and reports whether it is to be charged: it is none of the first ones of so many instances.
func (s *starts) owes(k kind, instances int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.paid[k] > 0:
		s.paid[k]--
		s.counts.Lost++
		return false
	case s.free[k] < instances:
		s.free[k]++
		s.counts.First++
		return false
	}
	s.counts.Resized++
	return true
}

// add charges pods of a namespace.
func (s *starts) add(namespace string, point abi.Point, fuel int64) {
	if fuel == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, found := slices.BinarySearchFunc(s.pending, plugin.Start{Namespace: namespace, Point: point}, func(x, y plugin.Start) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Point, y.Point))
	})
	if !found {
		s.pending = slices.Insert(s.pending, i, plugin.Start{Namespace: namespace, Point: point})
	}
	s.pending[i].Fuel += fuel
}

func (s *starts) count() StartCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// TakeStarts implements plugin.Breaker.
func (p *Plugin) TakeStarts() []plugin.Start {
	s := &p.starts
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.pending
	s.pending = nil
	return out
}

// Charge implements plugin.Breaker.
func (p *Plugin) Charge(s plugin.Start) { p.breaker.Charge(s.Namespace, s.Point, s.Fuel) }
