// Package pernode implements some plugins as kube-scheduler does: node by node, over API
// objects, with the component-helpers functions that kube-scheduler calls and with totals
// maintained per node. What depends only on the pod is computed once per pod.
// Benchmarks measure against its filters, and tests compare with it. It shares no code with the
// plugins that are compared with it. The other plugins are compared with kube-scheduler's own,
// by make oracle.
package pernode

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Amounts is what a node has, or what pods request: milli-CPU, bytes, counts.
type Amounts struct {
	MilliCPU, Memory, Storage int64
	Scalars                   map[v1.ResourceName]int64
}

// Node is a node with the totals of its pods.
type Node struct {
	Object              *v1.Node
	Allocatable         Amounts
	AllowedPods, Pods   int64
	Requested           Amounts
	NonZeroCPU, NonZero int64 // milli-CPU and bytes, with defaults
	Placed              []*v1.Pod
}

// Cluster computes the totals of nodes from the pods that are placed on them (spec.nodeName).
func Cluster(objects []*v1.Node, placed []*v1.Pod) []*Node {
	byName := make(map[string]*Node, len(objects))
	nodes := make([]*Node, 0, len(objects))
	for _, object := range objects {
		n := &Node{
			Object:      object,
			Allocatable: amounts(object.Status.Allocatable),
			AllowedPods: object.Status.Allocatable.Pods().Value(),
			Requested:   Amounts{Scalars: make(map[v1.ResourceName]int64)},
		}
		byName[object.Name] = n
		nodes = append(nodes, n)
	}
	for _, pod := range placed {
		if n := byName[pod.Spec.NodeName]; n != nil {
			n.add(pod)
		}
	}
	return nodes
}

func (n *Node) add(pod *v1.Pod) {
	n.Pods++
	n.Placed = append(n.Placed, pod)
	list := podRequests(pod, nil)
	r := amounts(list)
	n.Requested.MilliCPU += r.MilliCPU
	n.Requested.Memory += r.Memory
	n.Requested.Storage += r.Storage
	for name, value := range r.Scalars {
		n.Requested.Scalars[name] += value
	}
	defaults := defaultRequests()
	if resourcehelper.IsPodLevelRequestsSet(pod) {
		for name := range list {
			delete(defaults, name)
		}
	}
	list = podRequests(pod, defaults)
	n.NonZeroCPU += list.Cpu().MilliValue()
	n.NonZero += list.Memory().Value()
}

// podRequests calls the function that kube-scheduler calls, with the feature gates of v1.37.
func podRequests(pod *v1.Pod, defaults v1.ResourceList) v1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
		NonMissingContainerRequests:                    defaults,
	})
}

// defaultRequests is what scores assume for a container without requests.
func defaultRequests() v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(100, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(200<<20, resource.DecimalSI),
	}
}

func amounts(list v1.ResourceList) Amounts {
	a := Amounts{Scalars: make(map[v1.ResourceName]int64)}
	for name, quantity := range list {
		switch name {
		case v1.ResourceCPU:
			a.MilliCPU = quantity.MilliValue()
		case v1.ResourceMemory:
			a.Memory = quantity.Value()
		case v1.ResourceEphemeralStorage:
			a.Storage = quantity.Value()
		default:
			if isScalar(name) {
				a.Scalars[name] = quantity.Value()
			}
		}
	}
	return a
}

func isScalar(name v1.ResourceName) bool {
	return strings.Contains(string(name), "/") || strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(string(name), v1.ResourceAttachableVolumesPrefix)
}
