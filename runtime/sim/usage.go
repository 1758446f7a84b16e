package sim

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Usage is how much of one resource of the cluster is requested, in its unit: milli-CPU, bytes,
// or a count.
type Usage struct {
	Resource    v1.ResourceName `json:"resource"`
	Allocatable int64           `json:"allocatable"`
	Requested   int64           `json:"requested"` // at the end
	Peak        int64           `json:"peak"`      // the maximum over time
}

// usage adds up the requests of pods on nodes. Pods on unknown nodes do not count.
type usage struct {
	nodes map[string]*nodeUsage
	sums  map[v1.ResourceName]*Usage
}

// nodeUsage is a node, which may be unknown, with the requests of its pods.
type nodeUsage struct {
	known                  bool
	allocatable, requested state.Resources
}

func newUsage(nodes []*v1.Node) *usage {
	u := &usage{nodes: make(map[string]*nodeUsage), sums: make(map[v1.ResourceName]*Usage)}
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
	EachResource(&n.allocatable, func(name v1.ResourceName, value int64) { u.of(name).Allocatable += value })
	u.request(&n.requested, 1)
}

// forget makes a node unknown.
func (u *usage) forget(name string) {
	n := u.node(name)
	if !n.known {
		return
	}
	n.known = false
	EachResource(&n.allocatable, func(name v1.ResourceName, value int64) { u.of(name).Allocatable -= value })
	u.request(&n.requested, -1)
}

func (u *usage) node(name string) *nodeUsage {
	n := u.nodes[name]
	if n == nil {
		n = &nodeUsage{}
		u.nodes[name] = n
	}
	return n
}

func (u *usage) of(name v1.ResourceName) *Usage {
	sum, ok := u.sums[name]
	if !ok {
		sum = &Usage{Resource: name}
		u.sums[name] = sum
	}
	return sum
}

func (u *usage) add(pod *state.Pod)    { u.account(pod, 1) }
func (u *usage) remove(pod *state.Pod) { u.account(pod, -1) }

func (u *usage) account(pod *state.Pod, sign int64) {
	n := u.node(pod.NodeName())
	if sign > 0 {
		n.requested.Add(&pod.Requests)
	} else {
		n.requested.Sub(&pod.Requests)
	}
	if n.known {
		u.request(&pod.Requests, sign)
	}
}

// request adds requests to the sums, or subtracts them.
func (u *usage) request(r *state.Resources, sign int64) {
	EachResource(r, func(name v1.ResourceName, value int64) {
		sum := u.of(name)
		sum.Requested += sign * value
		sum.Peak = max(sum.Peak, sum.Requested)
	})
}

// list returns the resources that the cluster has or pods request: cpu, memory, ephemeral
// storage and pods first, then the others by name.
func (u *usage) list() []Usage {
	fixed := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods}
	var out []Usage
	for _, name := range fixed {
		if sum, ok := u.sums[name]; ok {
			out = append(out, *sum)
		}
	}
	var others []Usage
	for name, sum := range u.sums {
		if !slices.Contains(fixed, name) {
			others = append(others, *sum)
		}
	}
	slices.SortFunc(others, func(a, b Usage) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return append(out, others...)
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
