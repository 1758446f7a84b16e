package noderesources

import (
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/shape"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

// scored is a resource that contributes to a score.
type scored struct {
	name   v1.ResourceName
	scalar bool
	weight int64
}

// newScored checks the resources of args; the default is cpu and memory.
func newScored(specs []configv1.ResourceSpec) ([]scored, error) {
	if len(specs) == 0 {
		specs = []configv1.ResourceSpec{{Name: string(v1.ResourceCPU), Weight: 1}, {Name: string(v1.ResourceMemory), Weight: 1}}
	}
	out := make([]scored, 0, len(specs))
	for _, s := range specs {
		if s.Weight < 0 {
			return nil, fmt.Errorf("the weight of resource %s is %d, which is negative", s.Name, s.Weight)
		}
		if s.Weight == 0 {
			s.Weight = 1
		}
		name := v1.ResourceName(s.Name)
		out = append(out, scored{name: name, scalar: state.IsScalarResource(name), weight: s.Weight})
	}
	return out, nil
}

// want is what the pod requests of a scored resource.
type want struct {
	amount int64
	// devices counts those that a node has instead of the resource; nil for none.
	devices func(node *v1.Node) (all, allocated int64)
}

// request is what the pod requests of each scored resource.
type request []want

// Clone returns the value itself: it does not change after PreScore.
func (r request) Clone() state.Value { return r }

// requestOf returns the pod's requests; with nonZero, containers that request no cpu or memory
// count with defaults.
func requestOf(pod *state.Pod, resources []scored, nonZero bool, devices Devices) request {
	out := make(request, len(resources))
	cpu, memory := pod.Requests.MilliCPU, pod.Requests.Memory
	if nonZero {
		cpu, memory = pod.ScoredCPU, pod.ScoredMemory
	}
	for i := range resources {
		switch name := resources[i].name; name {
		case v1.ResourceCPU:
			out[i].amount = cpu
		case v1.ResourceMemory:
			out[i].amount = memory
		case v1.ResourceEphemeralStorage:
			out[i].amount = pod.Requests.EphemeralStorage
		default:
			if out[i].amount = pod.Requests.Scalar(name); out[i].amount != 0 && resources[i].scalar {
				out[i].devices = devices.Counter(name)
			}
		}
	}
	return out
}

// fewResources is the number of resources for which a call needs no heap allocation.
const fewResources = 8

// usage is a scored resource and its columns.
type usage struct {
	amount, weight         int64
	allocatable, allocated []int64
	nodes                  []*state.Node
	devices                func(node *v1.Node) (all, allocated int64) // nil for none
}

// counted returns the devices of a row that has none of the resource itself, and those of them that are
// allocated.
func (u *usage) counted(row uint32) (capacity, allocated int64) {
	if u.devices == nil {
		return 0, 0
	}
	return u.devices(u.nodes[row].Object)
}

// usages appends the resources that count for the pod. Scalars that the pod does not request,
// and resources that no node has, do not count.
func usages(dst []usage, t *state.NodeTable, s *state.Snapshot, resources []scored, asked request, nonZero bool) []usage {
	for i := range resources {
		r := &resources[i]
		u := usage{amount: asked[i].amount, weight: r.weight, nodes: t.Node, devices: asked[i].devices}
		column := -1
		switch r.name {
		case v1.ResourceCPU:
			column, u.allocated = state.CPU, t.NonZeroCPU
		case v1.ResourceMemory:
			column, u.allocated = state.Memory, t.NonZeroMemory
		case v1.ResourceEphemeralStorage:
			column = state.EphemeralStorage
		default:
			if r.scalar && u.amount != 0 {
				column = s.ResourceIndex(r.name)
			}
		}
		if column < 0 && u.devices != nil {
			u.allocatable = make([]int64, len(t.Node))
			u.allocated = u.allocatable
			dst = append(dst, u)
		}
		if column < 0 {
			continue
		}
		u.allocatable = t.Resources[column].Allocatable
		if !nonZero || u.allocated == nil {
			u.allocated = t.Resources[column].Requested
		}
		dst = append(dst, u)
	}
	return dst
}

// PreScore stores the pod's requests.
func (f *Fit) PreScore(c *plugin.Cycle, _ []uint32) *plugin.Status {
	c.State.Write(FitName, preScoreKey, requestOf(c.Pod, f.scored, true, f.devices))
	return nil
}

// Score scores nodes by how much of the weighted resources would be in use.
func (f *Fit) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	asked, ok := c.State.Read(FitName, preScoreKey).(request)
	if !ok {
		asked = requestOf(c.Pod, f.scored, true, f.devices)
	}
	var buf [fewResources]usage
	list := usages(buf[:0], &c.Snapshot.Nodes, c.Snapshot, f.scored, asked, true)
	switch f.strategy {
	case configv1.LeastAllocated:
		average(list, rows, out, unused)
	case configv1.MostAllocated:
		average(list, rows, out, used)
	default:
		byShape(f.shape, list, rows, out)
	}
	return nil
}

// average sets out to the weighted averages of rate over the resources that the row has, 0 for
// a row with none.
func average(list []usage, rows []uint32, out []int64, rate func(requested, capacity int64) int64) {
	for i, row := range rows {
		var sum, weights int64
		for j := range list {
			u := &list[j]
			capacity, allocated := u.allocatable[row], u.allocated[row]
			if capacity == 0 {
				if capacity, allocated = u.counted(row); capacity == 0 {
					continue
				}
			}
			sum += u.weight * rate(quantity.Sum(allocated, u.amount), capacity)
			weights += u.weight
		}
		if weights != 0 {
			out[i] = sum / weights
		}
	}
}

// unused is the free share of a resource, 0 … 100.
func unused(requested, capacity int64) int64 {
	if requested > capacity {
		return 0
	}
	return quantity.Portion(capacity-requested, abi.MaxScore, capacity)
}

// used is the share of a resource in use, 0 … 100.
func used(requested, capacity int64) int64 {
	return quantity.Portion(min(requested, capacity), abi.MaxScore, capacity)
}

// byShape is like average, but leaves out resources that score 0, and rounds.
func byShape(s shape.Shape, list []usage, rows []uint32, out []int64) {
	for i, row := range rows {
		var sum, weights int64
		for j := range list {
			u := &list[j]
			capacity, allocated := u.allocatable[row], u.allocated[row]
			if capacity == 0 {
				if capacity, allocated = u.counted(row); capacity == 0 {
					continue
				}
			}
			if rating := s.Of(quantity.Sum(allocated, u.amount), capacity); rating > 0 {
				sum += u.weight * rating
				weights += u.weight
			}
		}
		if weights != 0 {
			out[i] = int64(math.Round(float64(sum) / float64(weights)))
		}
	}
}
