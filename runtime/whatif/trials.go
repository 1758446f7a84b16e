package whatif

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// maxOfKind is how many changes of one kind are tried for a pod, the likeliest.
const maxOfKind = 4

// trials returns the changes to be tried for a pod that does not fit, the smallest first. Only pods
// that are tried are copied: a pod can have megabytes, and a hundred thousand possible changes.
func (q *question) trials(pod *v1.Pod) []trial {
	free := q.free()
	nodes := q.near(pod, free)
	return slices.Concat(q.tolerations(pod, nodes), selectors(pod, nodes), q.requests(pod, free, nodes), q.labels(pod, nodes))
}

// tolerations tolerates one taint, first those that alone keep the pod off a node, then that of the most nodes.
func (q *question) tolerations(pod *v1.Pod, near []near) (out []trial) {
	nodes, alone := make(map[v1.Taint]int), make(map[v1.Taint]int)
	for i := range near {
		for _, t := range near[i].taints {
			nodes[t]++
			if len(near[i].taints) == 1 && near[i].only(true, false, false) {
				alone[t]++
			}
		}
	}
	taints := slices.SortedFunc(maps.Keys(nodes), func(a, b v1.Taint) int {
		return cmp.Or(cmp.Compare(alone[b], alone[a]), cmp.Compare(nodes[b], nodes[a]), strings.Compare(a.ToString(), b.ToString()))
	})
	for _, t := range taints[:min(len(taints), maxOfKind)] {
		own := pod.DeepCopy()
		own.Spec.Tolerations = append(own.Spec.Tolerations, v1.Toleration{Key: t.Key, Operator: v1.TolerationOpEqual, Value: t.Value, Effect: t.Effect})
		out = append(out, trial{pod: own, change: report.Change{
			Kind: report.AddToleration, Toleration: &report.Toleration{Key: t.Key, Value: t.Value, Effect: string(t.Effect)},
		}})
	}
	return out
}

// selectors removes one requirement on labels, first those that alone keep the pod off a node.
func selectors(pod *v1.Pod, near []near) (out []trial) {
	alone := make(map[string]int)
	for i := range near {
		for key, n := range near[i].unmatched {
			if n == 1 && len(near[i].unmatched) == 1 && near[i].only(false, true, false) {
				alone[key]++
			}
		}
	}
	add := func(key string, own *v1.Pod) {
		out = append(out, trial{pod: own, change: report.Change{Kind: report.RemoveSelector, Selector: &report.Selector{Key: key}}})
	}
	keys := slices.Sorted(maps.Keys(pod.Spec.NodeSelector))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(alone[b], alone[a]) })
	expressions := required(pod)
	order := make([]int, len(expressions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(alone[expressions[b].Key], alone[expressions[a].Key]) })
	most := maxOfKind
	if len(order) > 0 && alone[expressions[order[0]].Key] > 0 {
		most-- // the likeliest expression is tried, too
	}
	for _, key := range keys[:min(len(keys), most)] {
		own := pod.DeepCopy()
		delete(own.Spec.NodeSelector, key)
		add(key, own)
	}
	for _, i := range order {
		e := expressions[i]
		if len(out) == maxOfKind {
			break
		}
		own := pod.DeepCopy()
		if len(required(own)) == 1 && len(own.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields) == 0 {
			own.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil // an empty term matches no node
		} else {
			term := &own.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
			term.MatchExpressions = slices.Delete(term.MatchExpressions, i, i+1)
		}
		add(e.Key, own)
	}
	return out
}

// required returns the requirements of the only required node affinity term.
func required(pod *v1.Pod) []v1.NodeSelectorRequirement {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	if terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms; len(terms) == 1 {
		return terms[0].MatchExpressions
	}
	return nil
}

// requests lowers one request of one container to what a node has left, by as little as possible: a node that only this keeps the pod
// off, if there is one.
func (q *question) requests(pod *v1.Pod, all []state.Resources, near []near) (out []trial) {
	need := state.NewPod(pod).Requests
	var free []state.Resources
	for i := range near {
		if near[i].only(false, false, true) && near[i].short == 1 {
			free = append(free, all[i])
		}
	}
	if len(free) == 0 {
		free = all
	}
	nearest := make(map[v1.ResourceName][]int64) // what the nodes have left that nearly suffices, the most first
	type lowered struct {
		container int
		name      v1.ResourceName
		to        int64
		share     float64 // of the request that is left
	}
	var candidates []lowered
	for i := range pod.Spec.Containers {
		for _, name := range slices.Sorted(maps.Keys(pod.Spec.Containers[i].Resources.Requests)) {
			own := quantity.Of(name, pod.Spec.Containers[i].Resources.Requests[name])
			if _, known := nearest[name]; !known {
				nearest[name] = twoBelow(need.Amount(name), free, name)
			}
			for _, left := range nearest[name] {
				if to := own - (need.Amount(name) - left); to > 0 {
					candidates = append(candidates, lowered{i, name, to, float64(to) / float64(own)})
				}
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b lowered) int { return cmp.Compare(b.share, a.share) })
	for _, l := range candidates[:min(len(candidates), maxOfKind)] {
		out = append(out, lower(pod, l.container, l.name, l.to))
	}
	return out
}

// twoBelow returns the two largest amounts of a resource below a limit, the largest first.
func twoBelow(limit int64, free []state.Resources, name v1.ResourceName) (out []int64) {
	for j := range free {
		left := free[j].Amount(name)
		if left >= limit || slices.Contains(out, left) {
			continue
		}
		out = append(out, left)
		slices.SortFunc(out, func(a, b int64) int { return cmp.Compare(b, a) })
		out = out[:min(len(out), 2)]
	}
	return out
}

func lower(pod *v1.Pod, container int, name v1.ResourceName, to int64) trial {
	own := pod.DeepCopy()
	c := &own.Spec.Containers[container]
	from := c.Resources.Requests[name]
	quantity := *resource.NewQuantity(to, from.Format)
	if name == v1.ResourceCPU {
		quantity = *resource.NewMilliQuantity(to, resource.DecimalSI)
	}
	c.Resources.Requests[name] = quantity
	if limit, ok := c.Resources.Limits[name]; ok && limit.Cmp(from) == 0 { // extended resources have equal ones
		c.Resources.Limits[name] = quantity
	}
	return trial{pod: own, change: report.Change{Kind: report.LowerRequest, Request: &report.Request{
		Container: c.Name, Resource: string(name), From: from.String(), To: quantity.String(),
	}}}
}

// free returns what each node has left.
func (q *question) free() []state.Resources {
	out, at := make([]state.Resources, 0, len(q.config.Nodes)), make(map[string]int, len(q.config.Nodes))
	for i, n := range q.config.Nodes {
		at[n.Name] = i
		out = append(out, state.NewNode(n).Allocatable)
		out[i].Scalars = slices.Clone(out[i].Scalars)
	}
	for _, p := range q.placed {
		if i, ok := at[p.NodeName()]; ok {
			out[i].Sub(&p.Requests)
		}
	}
	return out
}

// labels sets one label of a node to what the pod asks for, first of nodes where nothing else is in the way.
func (q *question) labels(pod *v1.Pod, near []near) (out []trial) {
	wanted := maps.Clone(pod.Spec.NodeSelector)
	if wanted == nil {
		wanted = make(map[string]string)
	}
	for _, e := range required(pod) {
		if e.Operator == v1.NodeSelectorOpIn {
			wanted[e.Key] = e.Values[0]
		}
	}
	keys := slices.Sorted(maps.Keys(wanted))
	order := make([]int, 0, len(near))
	for _, first := range []bool{true, false} {
		for i := range near {
			if near[i].only(false, true, false) == first {
				order = append(order, i)
			}
		}
	}
	for _, i := range order {
		n := q.config.Nodes[i]
		if len(out) == maxOfKind {
			break
		}
		var lacks []string
		for _, key := range keys {
			if n.Labels[key] != wanted[key] {
				lacks = append(lacks, key)
			}
			if len(lacks) > 1 {
				break
			}
		}
		if len(lacks) != 1 {
			continue
		}
		own := *n
		own.Labels = maps.Clone(n.Labels)
		if own.Labels == nil {
			own.Labels = make(map[string]string)
		}
		own.Labels[lacks[0]] = wanted[lacks[0]]
		out = append(out, trial{pod: pod.DeepCopy(), node: &own, change: report.Change{
			Kind: report.LabelNode, Label: &report.Label{Node: n.Name, Key: lacks[0], Value: wanted[lacks[0]]},
		}})
	}
	return out
}
