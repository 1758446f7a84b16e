package sim

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Usage is how much of one resource of the cluster is requested, in its unit: milli-CPU, bytes,
// or a count. Sums beyond the largest int64 are that.
type Usage struct {
	Resource    v1.ResourceName `json:"resource"`
	Allocatable int64           `json:"allocatable"`
	Requested   int64           `json:"requested"` // at the end
	Peak        int64           `json:"peak"`      // the maximum over time
}

// usage adds up the requests of pods on nodes. Pods on unknown nodes do not count.
type usage struct {
	nodes map[string]*nodeUsage
	sums  map[v1.ResourceName]*resourceUsage
}

// nodeUsage is a node, which may be unknown, with the requests of its pods.
type nodeUsage struct {
	known       bool
	allocatable state.Resources
	requested   map[v1.ResourceName]total
}

type resourceUsage struct {
	allocatable, requested total
	peak                   int64
}

// total is a sum of amounts. The sum over a cluster may be above the largest int64, and amounts must
// be subtracted from it again.
type total struct {
	high int64
	low  uint64
}

func (t total) plus(o total) total {
	low, carry := bits.Add64(t.low, o.low, 0)
	return total{t.high + o.high + int64(carry), low}
}

func (t total) minus(o total) total {
	low, borrow := bits.Sub64(t.low, o.low, 0)
	return total{t.high - o.high - int64(borrow), low}
}

// clamped returns the total, or the nearest int64 to it.
func (t total) clamped() int64 {
	switch n := int64(t.low); {
	case t.high == n>>63:
		return n
	case t.high < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func totalOf(n int64) total { return total{n >> 63, uint64(n)} }

func newUsage(nodes []*v1.Node) *usage {
	u := &usage{nodes: make(map[string]*nodeUsage), sums: make(map[v1.ResourceName]*resourceUsage)}
	for _, node := range nodes {
		u.set(state.NewNode(node))
	}
	return u
}

// set adds a node, or replaces the one of its name.
func (u *usage) set(node *state.Node) {
	u.forget(node.Name)
	n := u.node(node.Name)
	n.known, n.allocatable = true, node.Allocatable
	EachResource(&n.allocatable, func(name v1.ResourceName, value int64) {
		sum := u.of(name)
		sum.allocatable = sum.allocatable.plus(totalOf(value))
	})
	for name, value := range n.requested {
		u.request(name, value)
	}
}

// forget makes a node unknown.
func (u *usage) forget(name string) {
	n := u.node(name)
	if !n.known {
		return
	}
	n.known = false
	EachResource(&n.allocatable, func(name v1.ResourceName, value int64) {
		sum := u.of(name)
		sum.allocatable = sum.allocatable.minus(totalOf(value))
	})
	for name, value := range n.requested {
		u.request(name, total{}.minus(value))
	}
}

func (u *usage) node(name string) *nodeUsage {
	n := u.nodes[name]
	if n == nil {
		n = &nodeUsage{requested: make(map[v1.ResourceName]total)}
		u.nodes[name] = n
	}
	return n
}

func (u *usage) of(name v1.ResourceName) *resourceUsage {
	sum, ok := u.sums[name]
	if !ok {
		sum = &resourceUsage{}
		u.sums[name] = sum
	}
	return sum
}

func (u *usage) add(pod *state.Pod)    { u.account(pod, 1) }
func (u *usage) remove(pod *state.Pod) { u.account(pod, -1) }

func (u *usage) account(pod *state.Pod, sign int64) {
	n := u.node(pod.NodeName())
	EachResource(&pod.Requests, func(name v1.ResourceName, value int64) {
		change := totalOf(sign * value)
		n.requested[name] = n.requested[name].plus(change)
		if n.known {
			u.request(name, change)
		}
	})
}

// request adds a request to a sum.
func (u *usage) request(name v1.ResourceName, value total) {
	if value == (total{}) {
		return
	}
	sum := u.of(name)
	sum.requested = sum.requested.plus(value)
	sum.peak = max(sum.peak, sum.requested.clamped())
}

// list returns the resources that the cluster has or pods request: cpu, memory, ephemeral
// storage and pods first, then the others by name.
func (u *usage) list() []Usage {
	fixed := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods}
	var out []Usage
	for _, name := range fixed {
		if sum, ok := u.sums[name]; ok {
			out = append(out, sum.usage(name))
		}
	}
	var others []Usage
	for name, sum := range u.sums {
		if !slices.Contains(fixed, name) {
			others = append(others, sum.usage(name))
		}
	}
	slices.SortFunc(others, func(a, b Usage) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return append(out, others...)
}

func (r *resourceUsage) usage(name v1.ResourceName) Usage {
	return Usage{Resource: name, Allocatable: r.allocatable.clamped(), Requested: r.requested.clamped(), Peak: r.peak}
}

// EachResource calls f for every amount that is not zero.
func EachResource(r *state.Resources, f func(v1.ResourceName, int64)) {
	call := func(name v1.ResourceName, value int64) {
		if value != 0 {
			f(name, value)
		}
	}
	call(v1.ResourceCPU, r.MilliCPU)
	call(v1.ResourceMemory, r.Memory)
	call(v1.ResourceEphemeralStorage, r.EphemeralStorage)
	call(v1.ResourcePods, r.Pods)
	for _, s := range r.Scalars {
		call(s.Name, s.Value)
	}
}
