package mutant

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// All returns the bugs of a plugin: those that any plugin with such points can have, and its
// own.
func All(p plugin.Plugin) []Mutant {
	points := plugin.Points(p)
	var out []Mutant
	if slices.Contains(points, abi.Filter) {
		out = append(out, filterMutants()...)
	}
	if slices.Contains(points, abi.Score) {
		out = append(out, scoreMutants(p)...)
	}
	// For a plugin whose hints never wake, this is not a bug.
	if len(p.Info().Events) > 0 && p.Info().Name != "DefaultPreemption" {
		out = append(out, Mutant{Name: "hints never wake", hint: func(state.Hint) state.Hint { return state.QueueSkip }})
	}
	// That of SchedulingGates asks whose event it is; kube-scheduler's queue asks a pod about its own alone. That of NodeName
	// skips only for pods whose resize is deferred, which the subject Resizes draws.
	hints := slices.ContainsFunc(p.Info().Events, func(e plugin.Event) bool { return e.Hint != nil })
	if hints && !slices.Contains([]string{"SchedulingGates", "NodeName"}, p.Info().Name) {
		out = append(out, Mutant{Name: "hints always wake", hint: func(state.Hint) state.Hint { return state.Queue }})
	}
	return append(out, own(p.Info().Name)...)
}

func filterMutants() []Mutant {
	return []Mutant{
		{Name: "wrong code", verdict: func(code abi.Code, texts []string) (abi.Code, []string) {
			if code == abi.Unschedulable {
				return abi.UnschedulableAndUnresolvable, texts
			}
			return abi.Unschedulable, texts
		}},
		{Name: "wrong word in a reason", verdict: func(code abi.Code, texts []string) (abi.Code, []string) {
			texts = slices.Clone(texts)
			texts[len(texts)-1] = strings.Replace(texts[len(texts)-1], " ", "  ", 1) + "."
			return code, texts
		}},
		{Name: "one reason too many", verdict: func(code abi.Code, texts []string) (abi.Code, []string) {
			return code, append(slices.Clone(texts), texts[0])
		}},
		{Name: "fits nevertheless", verdict: func(abi.Code, []string) (abi.Code, []string) { return abi.Success, nil }},
	}
}

func scoreMutants(p plugin.Plugin) []Mutant {
	out := []Mutant{
		{Name: "swapped scores", scores: func(s []int64) { slices.Reverse(s) }},
		{Name: "score off by one", scores: func(s []int64) {
			for i := range s {
				s[i]++
			}
		}},
	}
	if _, ok := p.(plugin.Normalize); ok {
		out = append(out, Mutant{Name: "not normalised", normal: func([]int64) {}},
			Mutant{Name: "normalised the wrong way round", normal: func(s []int64) { plugin.NormalizeMax(s, p.Info().Name != "TaintToleration") }})
	}
	return out
}

// own returns the bugs that only one plugin can have.
func own(name string) []Mutant {
	switch name {
	case "SchedulingGates":
		return []Mutant{
			{Name: "sees the first gate only", pod: func(p *v1.Pod) { p.Spec.SchedulingGates = p.Spec.SchedulingGates[:min(1, len(p.Spec.SchedulingGates))] }},
			{Name: "admits", status: func(*plugin.Status) *plugin.Status { return nil }},
		}
	case "PrioritySort":
		return []Mutant{
			{Name: "the other way round", less: func(less bool) bool { return !less }},
			{Name: "everything is equal", less: func(bool) bool { return false }},
		}
	case "NodeName":
		return []Mutant{{Name: "a node that is not there is any node", pod: func(p *v1.Pod) {
			if p.Spec.NodeName == "gone" {
				p.Spec.NodeName = ""
			}
		}}}
	case "NodeUnschedulable", "TaintToleration":
		return taintMutants(name)
	case "NodeAffinity":
		return affinityMutants()
	case "NodePorts":
		return []Mutant{
			{Name: "protocol ignored", pod: eachPort(func(c *v1.ContainerPort) { c.Protocol = v1.ProtocolTCP })},
			{Name: "no address is every address", pod: eachPort(func(c *v1.ContainerPort) {
				if c.HostIP == "" || c.HostIP == "0.0.0.0" {
					c.HostIP = "10.9.9.9"
				}
			})},
			{Name: "does not skip", noSkip: true},
		}
	case "NodeResourcesFit", "NodeResourcesBalancedAllocation":
		return resourceMutants(name)
	case "ImageLocality":
		return []Mutant{
			{Name: "an image counts once", pod: func(p *v1.Pod) {
				seen := map[string]bool{}
				for i := range p.Spec.Containers {
					c := &p.Spec.Containers[i]
					if seen[c.Image] {
						c.Image = "another:1"
					}
					seen[c.Image] = true
				}
			}},
			{Name: "no tag is not latest", pod: func(p *v1.Pod) {
				for i := range p.Spec.Containers {
					c := &p.Spec.Containers[i]
					if strings.LastIndex(c.Image, ":") < strings.LastIndex(c.Image, "/") {
						c.Image += ":none"
					}
				}
			}},
			{Name: "image volumes ignored", pod: func(p *v1.Pod) { p.Spec.Volumes = nil }},
		}
	case "DefaultBinder":
		return []Mutant{
			{Name: "binds another pod", bind: func(l *plugin.Placement) {
				other := *l.Pod
				other.UID += "x"
				l.Pod = &other
			}},
			{Name: "swallows a failure", status: func(*plugin.Status) *plugin.Status { return nil }},
		}
	case "PodTopologySpread":
		return spreadMutants()
	case "InterPodAffinity":
		return podAffinityMutants()
	case "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone":
		return []Mutant{
			{Name: "the last volume ignored", pod: func(p *v1.Pod) { p.Spec.Volumes = p.Spec.Volumes[:max(0, len(p.Spec.Volumes)-1)] }},
			{Name: "claims of another namespace", pod: func(p *v1.Pod) { p.Namespace = "ns0" }},
		}
	case "DefaultPreemption":
		return preemptionMutants()
	case "DynamicResources":
		return []Mutant{
			{Name: "wrong word in a reason", status: func(s *plugin.Status) *plugin.Status {
				if s.Is(abi.Unschedulable) && len(s.Reasons) > 0 {
					return plugin.NewStatus(s.Code, s.Reasons[0]+".")
				}
				return s
			}},
			{Name: "does not fail where PreFilter did not get to it", status: func(s *plugin.Status) *plugin.Status {
				if s.Is(abi.Error) {
					return plugin.NewStatus(abi.Unschedulable)
				}
				return s
			}},
		}
	case "NodeDeclaredFeatures":
		return []Mutant{
			{Name: "user namespaces ignored", pod: func(p *v1.Pod) { p.Spec.HostUsers = nil }},
			{Name: "options of bind mounts ignored", pod: func(p *v1.Pod) {
				for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
					for i := range list {
						list[i].VolumeMounts = nil
					}
				}
			}},
		}
	}
	return nil
}
