package pernode

import (
	"math"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
)

// Score scores nodes one at a time.
type Score interface {
	Name() string
	// Prepare is called once per pod. It returns Skip when Score need not be called, or Error.
	Prepare(pod *v1.Pod) abi.Code
	Score(n *Node) int64
	// Normalize scales the scores of all feasible nodes to the range 0 to 100.
	Normalize(scores []int64)
}

// Resources is the score NodeResourcesFit or, if Balanced, NodeResourcesBalancedAllocation.
type Resources struct {
	Balanced bool
	Strategy configv1.ScoringStrategy

	request                           []int64
	requested, allocated, allocatable []int64
	fractions                         []float64
}

// Name is the name in a profile.
func (s *Resources) Name() string {
	if s.Balanced {
		return "NodeResourcesBalancedAllocation"
	}
	return "NodeResourcesFit"
}

// Prepare processes the pod.
func (s *Resources) Prepare(pod *v1.Pod) abi.Code {
	var defaults v1.ResourceList
	if !s.Balanced {
		defaults = defaultRequests()
	}
	list := podRequests(pod, defaults)
	n := len(s.Strategy.Resources)
	s.request = make([]int64, n)
	s.requested, s.allocated, s.allocatable = make([]int64, n), make([]int64, n), make([]int64, n)
	none := true
	for i, r := range s.Strategy.Resources {
		quantity := list[v1.ResourceName(r.Name)]
		s.request[i] = quantity.Value()
		if r.Name == string(v1.ResourceCPU) {
			s.request[i] = quantity.MilliValue()
		}
		none = none && s.request[i] == 0
	}
	if s.Balanced && none {
		return abi.Skip
	}
	return abi.Success
}

// Normalize scales the scores to the range 0 to 100.
func (s *Resources) Normalize([]int64) {}

// Score scores a node.
func (s *Resources) Score(n *Node) int64 {
	for i := range s.request {
		name := v1.ResourceName(s.Strategy.Resources[i].Name)
		s.requested[i], s.allocated[i], s.allocatable[i] = 0, 0, 0
		if s.request[i] == 0 && isScalar(name) {
			continue
		}
		has, used := s.usage(n, name)
		if has != 0 {
			s.requested[i], s.allocated[i], s.allocatable[i] = used+s.request[i], used, has
		}
	}
	if s.Balanced {
		return 50 + (50+s.evenness(s.requested)-s.evenness(s.allocated))/2
	}
	return s.average()
}

func (s *Resources) usage(n *Node, name v1.ResourceName) (has, used int64) {
	switch name {
	case v1.ResourceCPU:
		if s.Balanced {
			return n.Allocatable.MilliCPU, n.Requested.MilliCPU
		}
		return n.Allocatable.MilliCPU, n.NonZeroCPU
	case v1.ResourceMemory:
		if s.Balanced {
			return n.Allocatable.Memory, n.Requested.Memory
		}
		return n.Allocatable.Memory, n.NonZero
	case v1.ResourceEphemeralStorage:
		return n.Allocatable.Storage, n.Requested.Storage
	}
	return n.Allocatable.Scalars[name], n.Requested.Scalars[name]
}

func (s *Resources) average() int64 {
	ratio := s.Strategy.Type == configv1.RequestedToCapacityRatio
	var sum, weights int64
	for i, r := range s.Strategy.Resources {
		has, asked := s.allocatable[i], s.requested[i]
		if has == 0 {
			continue
		}
		var rating int64
		switch {
		case ratio:
			if rating = s.curve(100); asked <= has {
				rating = s.curve(asked * 100 / has)
			}
			if rating <= 0 {
				continue
			}
		case s.Strategy.Type == configv1.MostAllocated:
			rating = min(asked, has) * 100 / has
		case asked <= has:
			rating = (has - asked) * 100 / has
		}
		sum += rating * r.Weight
		weights += r.Weight
	}
	switch {
	case weights == 0:
		return 0
	case ratio:
		return int64(math.Round(float64(sum) / float64(weights)))
	}
	return sum / weights
}

// curve interpolates linearly between the points of the shape.
func (s *Resources) curve(x int64) int64 {
	points := s.Strategy.RequestedToCapacityRatio.Shape
	for i := range points {
		x1, y1 := int64(points[i].Utilization), 10*int64(points[i].Score)
		if x > x1 {
			continue
		}
		if i == 0 {
			return y1
		}
		x0, y0 := int64(points[i-1].Utilization), 10*int64(points[i-1].Score)
		return y0 + (y1-y0)*(x-x0)/(x1-x0)
	}
	return 10 * int64(points[len(points)-1].Score)
}

func (s *Resources) evenness(amounts []int64) int64 {
	s.fractions = s.fractions[:0]
	var total float64
	for i, a := range amounts {
		if s.allocatable[i] != 0 {
			f := math.Min(float64(a)/float64(s.allocatable[i]), 1)
			total += f
			s.fractions = append(s.fractions, f)
		}
	}
	var deviation float64
	if n := float64(len(s.fractions)); n == 2 {
		deviation = math.Abs(s.fractions[0]-s.fractions[1]) / 2
	} else if n > 2 {
		var squares float64
		for _, f := range s.fractions {
			squares += float64((f - total/n) * (f - total/n))
		}
		deviation = math.Sqrt(squares / n)
	}
	return int64((1 - deviation) * 100)
}
