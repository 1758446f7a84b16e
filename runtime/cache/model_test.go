package cache_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// model is the expected content of a cache, stored in the simplest way: API objects in maps. It
// shares no code with the cache and runtime/state.
type model struct {
	nodes map[string]*v1.Node
	pods  map[types.UID]modelPod

	namespaces map[string]*v1.Namespace
}

type modelPod struct {
	object  *v1.Pod
	assumed bool
}

func newModel() *model {
	return &model{nodes: map[string]*v1.Node{}, pods: map[types.UID]modelPod{}, namespaces: map[string]*v1.Namespace{}}
}

// uids returns the pods for which keep is true, sorted.
func (m *model) uids(keep func(modelPod) bool) []types.UID {
	var out []types.UID
	for uid, p := range m.pods {
		if keep(p) {
			out = append(out, uid)
		}
	}
	slices.Sort(out)
	return out
}

func (m *model) ghosts() int {
	names := map[string]bool{}
	for _, p := range m.pods {
		if node := p.object.Spec.NodeName; m.nodes[node] == nil {
			names[node] = true
		}
	}
	return len(names)
}

// text returns the expected Snapshot.Dump of a node, without the row number.
func (m *model) text(name string) string {
	var pods []*v1.Pod
	for _, uid := range m.uids(func(p modelPod) bool { return p.object.Spec.NodeName == name }) {
		pods = append(pods, m.pods[uid].object)
	}
	node := m.nodes[name]
	requested := map[v1.ResourceName]int64{v1.ResourcePods: int64(len(pods))}
	nonZero := map[v1.ResourceName]int64{}
	var ports, podLines []string
	for _, pod := range pods {
		sum := map[v1.ResourceName]int64{}
		for _, c := range pod.Spec.Containers {
			amounts := map[v1.ResourceName]int64{v1.ResourceCPU: 100, v1.ResourceMemory: 200 << 20}
			for resource, q := range c.Resources.Requests {
				amount := q.Value()
				if resource == v1.ResourceCPU {
					amount = q.MilliValue()
				}
				sum[resource] += amount
				amounts[resource] = amount
			}
			nonZero[v1.ResourceCPU] += amounts[v1.ResourceCPU]
			nonZero[v1.ResourceMemory] += amounts[v1.ResourceMemory]
			for _, port := range c.Ports {
				ports = append(ports, fmt.Sprintf("port 0.0.0.0:%d/1", port.HostPort))
			}
		}
		for resource, amount := range sum {
			requested[resource] += amount
		}
		line := fmt.Sprintf("pod default/%s priority %d cpu %d memory %d labels %v", pod.Name, *pod.Spec.Priority,
			sum[v1.ResourceCPU], sum[v1.ResourceMemory], pairs(pod.Labels))
		if len(pod.Annotations) > 0 {
			line += fmt.Sprintf(" annotations %q", pod.Annotations)
		}
		podLines = append(podLines, line)
	}
	flags := 0
	if node.Spec.Unschedulable {
		flags = 1
	}
	lines := []string{fmt.Sprintf("node %s rank %d flags %d non-zero cpu %d memory %d",
		name, rank(name), flags, nonZero[v1.ResourceCPU], nonZero[v1.ResourceMemory])}
	add := func(section []string) {
		slices.Sort(section)
		for _, line := range section {
			lines = append(lines, "  "+line)
		}
	}
	add(resourceLines(node, requested))
	var labels, taints, images []string
	for _, pair := range pairs(node.Labels) {
		labels = append(labels, "label "+pair)
	}
	for _, t := range node.Spec.Taints {
		taints = append(taints, fmt.Sprintf("taint %s=%s:1", t.Key, t.Value))
	}
	for _, image := range node.Status.Images {
		for _, imageName := range image.Names {
			images = append(images, fmt.Sprintf("image %s size %d nodes %d", imageName, image.SizeBytes, m.nodesWith(imageName)))
		}
	}
	add(labels)
	add(taints)
	add(images)
	add(ports)
	add(podLines)
	return strings.Join(lines, "\n") + "\n"
}

func resourceLines(node *v1.Node, requested map[v1.ResourceName]int64) []string {
	allocatable := map[v1.ResourceName]int64{}
	for resource, q := range node.Status.Allocatable {
		allocatable[resource] = q.Value()
		if resource == v1.ResourceCPU {
			allocatable[resource] = q.MilliValue()
		}
	}
	all := maps.Clone(allocatable)
	maps.Copy(all, requested)
	var out []string
	for resource := range all {
		if a, r := allocatable[resource], requested[resource]; a != 0 || r != 0 {
			out = append(out, fmt.Sprintf("resource %s allocatable %d requested %d", resource, a, r))
		}
	}
	return out
}

func (m *model) nodesWith(image string) (n int) {
	for _, node := range m.nodes {
		if slices.ContainsFunc(node.Status.Images, func(i v1.ContainerImage) bool { return slices.Contains(i.Names, image) }) {
			n++
		}
	}
	return n
}

func pairs(m map[string]string) []string {
	out := []string{}
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

func rank(name string) (n uint64) {
	for _, c := range name {
		n = n*31 + uint64(c)
	}
	return n
}
