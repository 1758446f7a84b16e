package cache

import (
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// account has what the pods on nodes request, by the name of their namespace. Namespaces that have no object count too: their objects may
// come later.
type account struct {
	sums map[string]*sum
	// generation numbers the changes of sums; no number is used twice. It is not the cache's counter, which numbers what nodes show.
	generation uint64
}

// sum is what the pods of a namespace request.
type sum struct {
	cpu, memory, storage, pods exact
	scalars                    []scalarSum // sorted by name, with one entry a name and none that is 0
}

type scalarSum struct {
	name v1.ResourceName
	exact
}

// exact is a sum that does not overflow, so that whatever was added can be taken out again: high × 2³² + low.
type exact struct{ high, low int64 }

func (e *exact) add(amount, sign int64) {
	e.high += sign * (amount >> 32)
	e.low += sign * (amount & math.MaxUint32)
}

// value returns the sum, or the nearest int64.
func (e exact) value() int64 {
	high := e.high + e.low>>32
	switch {
	case high > math.MaxInt32:
		return math.MaxInt64
	case high < math.MinInt32:
		return math.MinInt64
	}
	return high<<32 | e.low&math.MaxUint32
}

// add adds a pod to the sums of its namespace, or takes it out.
func (a *account) add(pod *state.Pod, sign int64) {
	s, ok := a.sums[pod.Namespace]
	if !ok {
		s = &sum{}
		a.sums[pod.Namespace] = s
	}
	r := &pod.Requests
	s.cpu.add(r.MilliCPU, sign)
	s.memory.add(r.Memory, sign)
	s.storage.add(r.EphemeralStorage, sign)
	s.pods.add(1, sign)
	for _, scalar := range r.Scalars {
		s.addScalar(scalar, sign)
	}
	if s.pods == (exact{}) {
		delete(a.sums, pod.Namespace)
	}
}

func (s *sum) addScalar(scalar state.Scalar, sign int64) {
	i, found := slices.BinarySearchFunc(s.scalars, scalar.Name, func(e scalarSum, name v1.ResourceName) int {
		return strings.Compare(string(e.name), string(name))
	})
	if !found {
		s.scalars = slices.Insert(s.scalars, i, scalarSum{name: scalar.Name})
	}
	if s.scalars[i].add(scalar.Value, sign); s.scalars[i].value() == 0 {
		s.scalars = slices.Delete(s.scalars, i, i+1) // otherwise a namespace keeps a resource forever
	}
}

// requested returns what the pods of a namespace request. Pods is their number.
func (a *account) requested(namespace string) state.Resources {
	s := a.sums[namespace]
	if s == nil {
		return state.Resources{}
	}
	out := state.Resources{MilliCPU: s.cpu.value(), Memory: s.memory.value(), EphemeralStorage: s.storage.value(), Pods: s.pods.value()}
	if len(s.scalars) > 0 {
		out.Scalars = make([]state.Scalar, len(s.scalars))
	}
	for i := range s.scalars {
		out.Scalars[i] = state.Scalar{Name: s.scalars[i].name, Value: s.scalars[i].value()}
	}
	return out
}

// next returns the number of a change.
func (a *account) next() uint64 {
	a.generation++
	return a.generation
}

// count adds a pod to the sums of its namespace, or takes it out.
func (c *Cache) count(pod *state.Pod, sign int64) {
	c.account.add(pod, sign)
	c.namespaces.sumChanged(pod.Namespace, &c.account)
}

// recount counts another version of a pod.
func (c *Cache) recount(old, pod *state.Pod) {
	if old != pod && !old.Requests.Equal(&pod.Requests) {
		c.account.add(old, -1)
		c.count(pod, 1)
	}
}
