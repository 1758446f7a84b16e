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
	nodes map[string]bool
	sums  map[v1.ResourceName]*Usage
}

func newUsage(nodes []*v1.Node) *usage {
	u := &usage{nodes: make(map[string]bool), sums: make(map[v1.ResourceName]*Usage)}
	for _, node := range nodes {
		u.nodes[node.Name] = true
		n := state.NewNode(node)
		each(&n.Allocatable, func(name v1.ResourceName, value int64) { u.of(name).Allocatable += value })
	}
	return u
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
	if !u.nodes[pod.NodeName()] {
		return
	}
	each(&pod.Requests, func(name v1.ResourceName, value int64) {
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

// each calls f for every amount that is not zero.
func each(r *state.Resources, f func(v1.ResourceName, int64)) {
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
