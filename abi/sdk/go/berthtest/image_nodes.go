package berthtest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi/internal/region"
)

// rows returns nodes by row, as in the tables.
func rows(all []*rowNode, pods map[*Pod]*region.Pod) []*region.Node {
	out := make([]*region.Node, len(all))
	generation := uint64(0)
	for row, n := range all {
		if n == nil {
			continue
		}
		generation++
		to := &region.Node{
			Name: n.Name, Unschedulable: n.Unschedulable, Allocatable: amount(n.Allocatable),
			Capacity: amount(n.Capacity), CreatedAt: n.CreatedAt, Labels: n.Labels, Annotations: n.Annotations,
			Conditions: n.Conditions, Generation: generation, Feeds: map[string]region.Cell{}, RequestedSince: amount(n.RequestedSince),
			Objects: n.Objects,
		}
		for name, value := range n.Feeds {
			to.Feeds[name] = region.Cell{Value: value, State: 1}
			if slices.Contains(n.Stale, name) {
				to.Feeds[name] = region.Cell{Value: value, State: 2}
			}
		}
		for _, t := range n.Taints {
			effect(t.Effect)
			to.Taints = append(to.Taints, region.Taint(t))
		}
		for _, name := range slices.Sorted(maps.Keys(n.Images)) {
			to.Images = append(to.Images, region.Image{Name: name, Size: n.Images[name]})
		}
		for _, p := range n.pods {
			to.Pods = append(to.Pods, pods[p])
		}
		for _, p := range n.nominated {
			to.Nominated = append(to.Nominated, pods[p])
		}
		out[row] = to
	}
	return out
}

func amount(of map[string]int64) func(string) int64 {
	return func(resource string) int64 { return of[resource] }
}

func nonZero(p *Pod) [2]int64 {
	v := p.NonZero
	for i, name := range [2]string{"cpu", "memory"} {
		if v[i] == 0 {
			v[i] = p.Requests[name]
		}
	}
	return v
}

func ports(all []Port) []region.Port {
	var out []region.Port
	for _, p := range all {
		out = append(out, region.Port(p))
	}
	return out
}

func effect(name string) uint32 {
	e, ok := region.Effect(name)
	if !ok {
		panic(fmt.Sprintf("berthtest: unknown taint effect %q", name))
	}
	return e
}
