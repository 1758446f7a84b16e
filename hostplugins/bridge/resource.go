package bridge

import (
	"maps"
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

// resources implements framework.Resource: milli-CPU, bytes, and counts.
type resources struct {
	milliCPU, memory, ephemeralStorage int64
	pods                               int
	scalars                            map[v1.ResourceName]int64
}

var _ framework.Resource = (*resources)(nil)

func newResources(r *state.Resources) *resources {
	out := &resources{milliCPU: r.MilliCPU, memory: r.Memory, ephemeralStorage: r.EphemeralStorage, pods: int(r.Pods)}
	for _, s := range r.Scalars {
		out.setScalar(s.Name, s.Value)
	}
	return out
}

func (r *resources) setScalar(name v1.ResourceName, n int64) {
	if r.scalars == nil {
		r.scalars = make(map[v1.ResourceName]int64)
	}
	r.scalars[name] = n
}

// add adds what a pod requests, or subtracts it.
func (r *resources) add(o framework.Resource, sign int64) {
	r.milliCPU = quantity.Sum(r.milliCPU, sign*o.GetMilliCPU())
	r.memory = quantity.Sum(r.memory, sign*o.GetMemory())
	r.ephemeralStorage = quantity.Sum(r.ephemeralStorage, sign*o.GetEphemeralStorage())
	for name, n := range o.GetScalarResources() {
		r.setScalar(name, quantity.Sum(r.scalars[name], sign*n))
	}
}

// full reports whether an amount is the largest int64.
func (r *resources) full() bool {
	if max(r.milliCPU, r.memory, r.ephemeralStorage) == math.MaxInt64 {
		return true
	}
	for _, n := range r.scalars {
		if n == math.MaxInt64 {
			return true
		}
	}
	return false
}

func (r *resources) clone() *resources {
	c := *r
	c.scalars = maps.Clone(r.scalars)
	return &c
}

// GetMilliCPU implements framework.Resource.
func (r *resources) GetMilliCPU() int64 { return r.milliCPU }

// GetMemory implements framework.Resource.
func (r *resources) GetMemory() int64 { return r.memory }

// GetEphemeralStorage implements framework.Resource.
func (r *resources) GetEphemeralStorage() int64 { return r.ephemeralStorage }

// GetAllowedPodNumber implements framework.Resource.
func (r *resources) GetAllowedPodNumber() int { return r.pods }

// GetScalarResources implements framework.Resource.
func (r *resources) GetScalarResources() map[v1.ResourceName]int64 { return r.scalars }

// SetMaxResource implements framework.Resource.
func (r *resources) SetMaxResource(list v1.ResourceList) {
	o := state.NewResources(list)
	r.milliCPU = max(r.milliCPU, o.MilliCPU)
	r.memory = max(r.memory, o.Memory)
	r.ephemeralStorage = max(r.ephemeralStorage, o.EphemeralStorage)
	for _, s := range o.Scalars {
		if s.Value > r.scalars[s.Name] {
			r.setScalar(s.Name, s.Value)
		}
	}
}
