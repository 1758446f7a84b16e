package volumebinding

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/quantity"
)

// PreScore skips a pod without claims: kube-scheduler gives each node 0 for it.
func (b *VolumeBinding) PreScore(c *plugin.Cycle, _ []uint32) *plugin.Status {
	_, ok := c.State.Read(Name, preFilterKey).(*plan)
	if b.shape == nil || !ok && !b.deps.OnlyShaped {
		return plugin.NewStatus(abi.Skip)
	}
	return nil
}

// usage is the requested storage of a class, and its capacity, in bytes.
type usage struct {
	class               string
	requested, capacity int64
}

// Score scores nodes by the utilization of the volumes that the pod's claims would be bound to
// or, if there are none, of the capacities that they would be provisioned from; the mean over
// storage classes, rounded. Nodes on which nothing is bound or provisioned score 0.
func (b *VolumeBinding) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	p, ok := c.State.Read(Name, preFilterKey).(*plan)
	if !ok {
		return nil // the pod has no claims
	}
	var classes []usage
	for i, row := range rows {
		classes = p.usage(classes[:0], row)
		if len(classes) == 0 {
			continue
		}
		var sum int64
		for j := range classes {
			sum += b.shape.Of(classes[j].requested, classes[j].capacity)
		}
		out[i] = int64(math.Round(float64(sum) / float64(len(classes))))
	}
	return nil
}

// usage appends the usage of the placement that Filter found on a row, by class.
func (p *plan) usage(dst []usage, row uint32) []usage {
	for _, u := range p.open {
		n := volumeOf(u, row)
		if n == 0 {
			continue
		}
		pv := p.volumes[n-1]
		size, capacity := sizeOf(u.claim), pv.Spec.Capacity[v1.ResourceStorage]
		at := ofClass(&dst, pv.Spec.StorageClassName)
		at.requested = quantity.Sum(at.requested, quantity.Whole(size))
		at.capacity = quantity.Sum(at.capacity, quantity.Whole(capacity))
	}
	if len(dst) > 0 {
		return dst
	}
	for _, list := range [...][]*unbound{p.selected, p.open} {
		for _, u := range list {
			if int(row) >= len(u.pool) || u.pool[row] == 0 {
				continue
			}
			size := sizeOf(u.claim)
			at := ofClass(&dst, u.class)
			at.requested = quantity.Sum(at.requested, quantity.Whole(size))
			// Not a sum: the claims share one capacity.
			at.capacity = 0
			if c := p.capacities[u.pool[row]-1].Capacity; c != nil {
				at.capacity = quantity.Whole(*c)
			}
		}
	}
	return dst
}

// volumeOf returns the number of the volume that a claim would be bound to.
func volumeOf(u *unbound, row uint32) int32 {
	if int(row) >= len(u.volume) {
		return 0
	}
	return u.volume[row]
}

func ofClass(list *[]usage, class string) *usage {
	i := slices.IndexFunc(*list, func(u usage) bool { return u.class == class })
	if i < 0 {
		i = len(*list)
		*list = append(*list, usage{class: class})
	}
	return &(*list)[i]
}
